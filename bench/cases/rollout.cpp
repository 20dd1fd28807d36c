// rollout: an Asian option under stochastic volatility (Heston) by Monte Carlo: vmap of a scan over the days of each
// path, noise drawn in each step; the price, or the price with its derivatives in the model's parameters.
#include <fmt/format.h>

#include <cmath>

#include "bench/job.h"

namespace bench {
namespace {

namespace nr = neap::random;
using neap::Array;

struct Heston {
  Array spot, variance, reversion, level, noise;  // scalars
};

constexpr float kStrike = 100, kYears = 1, kCorrelation = -0.7f;
constexpr size_t kParameters = 5;

// What the option pays on the path that `key` draws.
Array payoff(const Heston& p, const Array& key, int64_t steps) {
  const float dt = kYears / static_cast<float>(steps), root = std::sqrt(dt);
  const auto step = [&](const std::tuple<Array, Array, Array>& state, const Array& day) {
    const auto& [spot, variance, total] = state;
    const Array z = nr::normal(nr::fold_in(key, day), {2});
    const Array left = neap::maximum(variance, 1e-6f), deviation = neap::sqrt(left);
    const Array other = kCorrelation * z[0] + std::sqrt(1 - kCorrelation * kCorrelation) * z[1];
    const Array next = spot * neap::exp(-0.5f * dt * left + root * deviation * z[0]);
    const Array later = variance + p.reversion * (p.level - left) * dt + p.noise * deviation * root * other;
    return std::pair{std::tuple{next, later, total + next}, nullptr};
  };
  const auto [last, unused] = neap::scan(step, std::tuple{p.spot, p.variance, neap::zeros({})}, neap::arange(steps));
  return neap::maximum(std::get<2>(last) / static_cast<float>(steps) - kStrike, 0.0f);
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t paths = r.shape[0], steps = r.shape[1];
  const auto price = [=](const Heston& p, const Array& key) {
    const auto one = [=](const Heston& p, const Array& key) { return payoff(p, key, steps); };
    return neap::mean(neap::vmap(one, {.in_axes = {neap::none, 0}})(p, nr::split(key, paths)));
  };
  const Array scalar = neap::spec({}, neap::f32);
  const std::tuple specs{Heston{scalar, scalar, scalar, scalar, scalar}, neap::spec({2}, neap::u32)};
  const auto make = [] {
    const auto number = [](float x) { return neap::full({}, x, neap::f32); };
    return std::tuple{Heston{number(100), number(0.04f), number(2), number(0.04f), number(0.3f)}, nr::key(7)};
  };
  const auto finish = [&](auto job, size_t outputs) -> std::unique_ptr<Job> {
    job->output_bytes = outputs * sizeof(float);
    job->elements = static_cast<double>(paths * steps);
    job->describe = [](const std::vector<Array>& out) { return fmt::format("price {:.4f}", out[0].item<double>()); };
    return job;
  };
  if (r.form == "price") return finish(make_job(r, price, specs, make), 1);
  return finish(make_job(r, neap::value_and_grad(price), specs, make), 1 + kParameters);
}

}  // namespace

void add_rollout_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "rollout";
  c.what = "an Asian option by vmap of a scan over the days of a path, noise drawn in each; and its gradient";
  c.size_means = "paths x steps";
  c.size = {100'000, 64};
  c.full = {10'000'000, 252};
  c.forms = {"grad", "price"};
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
