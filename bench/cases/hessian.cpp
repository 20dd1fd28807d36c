// hessian-mlp: all second derivatives of a network's loss in all of its parameters. A batch of tangents, one for each
// parameter, goes through a forward and a backward pass; the n x n result is the least that any program holds.
#include "bench/job.h"

namespace bench {
namespace {

using neap::Array;

// width -> width -> width -> 1 with tanh; the parameters lie in one vector.
int64_t parameters(int64_t width) { return 2 * (width * width + width) + width + 1; }

Array loss(const Array& flat, const Array& x, const Array& y, int64_t width) {
  int64_t at = 0;
  const auto next = [&](const neap::Shape& shape) {
    const int64_t begin = at;
    at += neap::element_count(shape);
    return neap::reshape(flat[{neap::slice(begin, at)}], shape);
  };
  Array h = x;
  for (int layer = 0; layer < 2; ++layer) {
    const Array w = next({width, width}), b = next({width});
    h = neap::tanh(neap::matmul(h, w) + b);
  }
  const Array w = next({width, 1}), b = next({1});
  return neap::mean(neap::square(neap::squeeze(neap::matmul(h, w) + b, 1) - y));
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t batch = r.shape[0], width = r.shape[1], n = parameters(width);
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  const auto f =
      neap::hessian([width](const Array& flat, const Array& x, const Array& y) { return loss(flat, x, y, width); });
  const std::tuple specs{neap::spec({n}, dtype), neap::spec({batch, width}, dtype), neap::spec({batch}, dtype)};
  const auto make = [=] {
    return std::tuple{host_uniform({n}, dtype, 1, 0.3f), host_uniform({batch, width}, dtype, 2),
                      host_uniform({batch}, dtype, 3)};
  };
  auto job = make_job(r, f, specs, make);
  job->output_bytes = neap::Aval{{n, n}, dtype}.bytes();
  job->elements = static_cast<double>(n) * static_cast<double>(n);
  return job;
}

}  // namespace

void add_hessian_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "hessian-mlp";
  c.what = "the Hessian of a 3-layer network's loss in all its parameters: 2145 at width 32, 131841 at width 256";
  c.size_means = "batch x width";
  c.size = {256, 32};
  c.full = {1024, 256};
  c.dtypes = {"f32", "f64"};
  c.has_peers = true;
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
