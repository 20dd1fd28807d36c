// attention: softmax(q k' / 8) v, and its gradient; written plainly, so that the scores are a square of the length.
#include "bench/job.h"

namespace bench {
namespace {

using neap::Array;

constexpr int64_t kDepth = 64;

// All [heads, length, depth].
Array attention(const Array& q, const Array& k, const Array& v) {
  const Array scores = neap::matmul(q, neap::swapaxes(k, 1, 2)) * (1 / 8.0f);
  return neap::matmul(neap::softmax(scores), v);
}

std::unique_ptr<Job> build(const Request& r) {
  const neap::Shape shape{r.shape[0], r.shape[1], kDepth};
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  const Array spec = neap::spec(shape, dtype);
  const auto array = [=](uint32_t seed) { return host_uniform(shape, dtype, seed, 2); };
  const auto done = [&](auto job, size_t outputs) -> std::unique_ptr<Job> {
    job->output_bytes = outputs * spec.bytes();
    job->elements = static_cast<double>(r.shape[0] * r.shape[1]) * static_cast<double>(r.shape[1]);
    return job;
  };
  if (r.form == "forward") {
    return done(
        make_job(r, attention, std::tuple{spec, spec, spec}, [=] { return std::tuple{array(1), array(2), array(3)}; }),
        1);
  }
  const auto loss = [](const Array& q, const Array& k, const Array& v, const Array& w) {
    return neap::sum(attention(q, k, v) * w);
  };
  return done(make_job(r, neap::grad<0, 1, 2>(loss), std::tuple{spec, spec, spec, spec},
                       [=] { return std::tuple{array(1), array(2), array(3), array(4)}; }),
              3);
}

}  // namespace

void add_attention_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "attention";
  c.what = "softmax(q k' / 8) v of [heads, length, 64], or its gradient in q, k and v";
  c.size_means = "heads x length";
  c.size = {4, 2048};
  c.full = {16, 16384};
  c.dtypes = {"f32", "f64"};
  c.forms = {"forward", "grad"};
  c.has_peers = true;
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
