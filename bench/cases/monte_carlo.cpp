// monte-carlo: the price of a European call and its derivatives in spot and volatility, samples and all inside the
// traced function.
#include <fmt/format.h>

#include <cmath>

#include "bench/job.h"

namespace bench {
namespace {

namespace nr = neap::random;
using neap::Array;

constexpr float kSpot = 100, kStrike = 105, kRate = 0.02f, kSigma = 0.2f, kYears = 1;
constexpr double kPrice = 6.7048, kDelta = 0.4825, kVega = 39.856;  // Black-Scholes

std::unique_ptr<Job> build(const Request& r) {
  const int64_t samples = r.shape[0];
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  const auto price = [=](const Array& spot, const Array& sigma, const Array& key) {
    const Array z = nr::normal(key, {samples}, dtype);
    const Array s = spot * neap::exp((kRate - 0.5f * sigma * sigma) * kYears + sigma * std::sqrt(kYears) * z);
    return std::exp(-kRate * kYears) * neap::mean(neap::maximum(s - kStrike, 0.0f));
  };
  const Array scalar = neap::spec({}, dtype);
  const auto make = [dtype] {
    return std::tuple{neap::full({}, kSpot, dtype), neap::full({}, kSigma, dtype), nr::key(7)};
  };
  const std::tuple specs{scalar, scalar, neap::spec({2}, neap::u32)};
  const auto describe = [](const std::vector<Array>& out) {
    if (out.size() == 1) return fmt::format("price {:.4f} (Black-Scholes {})", out[0].item<double>(), kPrice);
    return fmt::format("price {:.4f}, delta {:.4f}, vega {:.3f}; Black-Scholes {}, {}, {}", out[0].item<double>(),
                       out[1].item<double>(), out[2].item<double>(), kPrice, kDelta, kVega);
  };
  const auto finish = [&](auto job, size_t outputs) -> std::unique_ptr<Job> {
    job->describe = describe;
    job->output_bytes = outputs * neap::size_of(dtype);
    job->elements = static_cast<double>(samples);
    return job;
  };
  if (r.form == "value") return finish(make_job(r, price, specs, make), 1);
  return finish(make_job(r, neap::value_and_grad<0, 1>(price), specs, make), 3);
}

}  // namespace

void add_monte_carlo_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "monte-carlo";
  c.what = "a call option by Monte Carlo: value and gradient, or the value alone";
  c.size_means = "samples";
  c.size = {100'000'000};
  c.full = {1'000'000'000};
  c.dtypes = {"f32", "f64"};
  c.forms = {"value-and-grad", "value"};
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
