// random-matmul: normal(n, d) @ W. The samples feed an operation that cannot generate them itself.
#include "bench/job.h"

namespace bench {
namespace {

namespace nr = neap::random;
using neap::Array;

constexpr int64_t kColumns = 8;

std::unique_ptr<Job> build(const Request& r) {
  const int64_t n = r.shape[0], d = r.shape[1];
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  Request budgeted = r;
  if (r.budget == 0 && r.pipeline == "planned") budgeted.budget = size_t{256} << 20;
  const auto f = [=](const Array& key, const Array& w) { return neap::matmul(nr::normal(key, {n, d}, dtype), w); };
  auto job = make_job(budgeted, f, std::tuple{neap::spec({2}, neap::u32), neap::spec({d, kColumns}, dtype)},
                      [=] { return std::tuple{nr::key(42), host_uniform({d, kColumns}, dtype, 1)}; });
  job->output_bytes = neap::Aval{{n, kColumns}, dtype}.bytes();
  job->elements = static_cast<double>(n) * static_cast<double>(d);
  return job;
}

}  // namespace

void add_random_matmul_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "random-matmul";
  c.what = "normal(n, d) @ W[d, 8], planned under 256 MiB unless --budget says otherwise";
  c.size_means = "n x d";
  c.size = {100'000, 512};
  c.full = {1'000'000, 512};
  c.dtypes = {"f32", "f64"};
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
