// random-normal and random-uniform: an array of samples, alone and inside transforms.
#include <algorithm>

#include "bench/job.h"
#include "bench/statistics.h"

namespace bench {
namespace {

namespace nr = neap::random;
using neap::Array;
using neap::Shape;

constexpr uint64_t kSeed = 42;
constexpr int64_t kBatch = 8;

using Draw = std::function<Array(const Array& key)>;

Draw draw(const Request& r) {
  const bool normal = r.name == "random-normal";
  const Shape shape = r.shape;
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  return [=](const Array& key) { return normal ? nr::normal(key, shape, dtype) : nr::uniform(key, shape, dtype); };
}

size_t padded_bytes(Shape shape, neap::DType dtype) { return neap::Aval{std::move(shape), dtype}.bytes(); }

template <class J>
std::unique_ptr<Job> sized(J job, const Request& r, int64_t copies) {
  Shape shape = r.shape;
  shape.insert(shape.begin(), copies);
  job->output_bytes = padded_bytes(shape, *neap::parse_dtype(r.dtype));
  job->elements = static_cast<double>(neap::element_count(shape));
  return job;
}

Array one_key() { return nr::key(kSeed); }
Array batch_of_keys() {
  std::vector<uint32_t> words;
  for (uint32_t i = 0; i < kBatch; ++i) words.insert(words.end(), {0, static_cast<uint32_t>(kSeed) + i});
  return neap::array(words, Shape{kBatch, 2});
}

std::unique_ptr<Job> under_grad(const Request& r) {
  const Draw f = draw(r);
  const auto loss = [f](const Array& w, const Array& key) { return neap::sum(f(key) * w); };
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  return sized(make_job(r, neap::grad(loss), std::tuple{neap::spec(r.shape, dtype), neap::spec({2}, neap::u32)},
                        [shape = r.shape, dtype] { return std::tuple{host_uniform(shape, dtype, 1), one_key()}; }),
               r, 1);
}

std::unique_ptr<Job> under_scan(const Request& r) {
  const Draw f = draw(r);
  const auto steps = [f](const Array& keys) {
    auto [last, samples] = neap::scan(
        [f](const Array& count, const Array& key) { return std::pair{count + 1, f(key)}; }, neap::array(0), keys);
    return samples;
  };
  return sized(
      make_job(r, steps, std::tuple{neap::spec({kBatch, 2}, neap::u32)}, [] { return std::tuple{batch_of_keys()}; }), r,
      kBatch);
}

// Bounds that are arrays: low[j] <= x[..., j] < high[j].
std::unique_ptr<Job> with_bounds(const Request& r) {
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  const Shape shape = r.shape, row = shape.empty() ? Shape{} : Shape{shape.back()};
  const auto f = [=](const Array& key, const Array& low, const Array& high) {
    return nr::uniform(key, shape, dtype, low, high);
  };
  return sized(
      make_job(r, f, std::tuple{neap::spec({2}, neap::u32), neap::spec(row, dtype), neap::spec(row, dtype)},
               [=] { return std::tuple{one_key(), host_uniform(row, dtype, 2), neap::full(row, 1.5f, dtype)}; }),
      r, 1);
}

std::unique_ptr<Job> build(const Request& r) {
  const Draw f = draw(r);
  if (r.form != "plain" && r.under != "none") throw UsageError{"--form " + r.form + " goes with --under none only"};
  if (r.form == "bounds") return with_bounds(r);
  if (r.under == "grad") return under_grad(r);
  if (r.under == "scan") return under_scan(r);
  const auto keys = std::tuple{neap::spec({kBatch, 2}, neap::u32)};
  const auto make_keys = [] { return std::tuple{batch_of_keys()}; };
  if (r.form == "keys") return sized(make_job(r, f, keys, make_keys), r, kBatch);
  if (r.under == "vmap8") return sized(make_job(r, neap::vmap(f), keys, make_keys), r, kBatch);
  auto job = make_job(r, f, std::tuple{neap::spec({2}, neap::u32)}, [] { return std::tuple{one_key()}; });
  if (r.strategy == "subkey" && r.name == "random-normal" && (r.dtype == "bf16" || r.dtype == "f16")) {
    job->describe = [chunks = std::max<int64_t>(1, r.chunks)](const std::vector<Array>& out) {
      return to_text(normal_statistics(out[0], chunks));
    };
  }
  return sized(std::move(job), r, 1);
}

}  // namespace

void add_random_cases(std::vector<Case>& cases) {
  Case c;
  c.size_means = "extents";
  c.size = {4096, 4096};
  c.full = {46341, 46341};
  c.any_rank = true;
  c.dtypes = {"bf16", "f16", "f32", "f64"};
  c.unders = {"none", "vmap8", "grad", "scan"};
  c.has_peers = true;
  c.build = build;
  c.name = "random-normal";
  c.what = "standard normal samples; keys: a batch of 8 keys";
  c.forms = {"plain", "keys"};
  cases.push_back(c);
  c.name = "random-uniform";
  c.what = "uniform samples; bounds: array bounds; keys: a batch of 8 keys";
  c.forms = {"plain", "bounds", "keys"};
  cases.push_back(c);
}

}  // namespace bench
