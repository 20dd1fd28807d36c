// first-call: what a first call costs, compiler and all. dispatch: what a cached call costs when there is nothing to
// do.
#include "bench/job.h"

namespace bench {
namespace {

using neap::Array;

// Ten elementwise operations in a row.
Array chain(const Array& x) {
  Array y = neap::exp(-neap::abs(x));
  y = neap::log1p(y) + neap::maximum(x, 0.0f);
  y = neap::tanh(y) * 0.5f;
  return neap::square(y) + 1.0f;
}

std::unique_ptr<Job> build_first_call(const Request& r) {
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  const neap::Shape shape = r.shape;
  auto job = make_job(r, chain, std::tuple{neap::spec(shape, dtype)},
                      [=] { return std::tuple{host_uniform(shape, dtype, 1)}; });
  job->first_call = true;
  job->output_bytes = neap::Aval{shape, dtype}.bytes();
  job->elements = static_cast<double>(neap::element_count(shape));
  return job;
}

std::unique_ptr<Job> build_dispatch(const Request& r) {
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  const auto f = [](const Array& x) { return x * 2.0f + 1.0f; };
  auto job = make_job(r, f, std::tuple{neap::spec({}, dtype)}, [=] { return std::tuple{neap::full({}, 3.0f, dtype)}; });
  job->calls = static_cast<int>(r.shape[0]);
  job->output_bytes = neap::size_of(dtype);
  return job;
}

}  // namespace

void add_dispatch_cases(std::vector<Case>& cases) {
  Case c;
  c.any_rank = true;
  c.dtypes = {"f32", "f64"};
  c.name = "first-call";
  c.what = "the first call of a fused ten-operation chain in a fresh process, nothing cached";
  c.size_means = "extents";
  c.size = c.full = {1024};
  c.first_call = true;
  c.build = build_first_call;
  cases.push_back(c);
  c.name = "dispatch";
  c.what = "a cached call of a scalar program; seconds are of one call";
  c.size_means = "calls a repetition";
  c.size = c.full = {10'000};
  c.any_rank = false;
  c.first_call = false;
  c.build = build_dispatch;
  cases.push_back(c);
}

}  // namespace bench
