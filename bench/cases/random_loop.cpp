// random-loop: many small draws, each reduced to a sum, written three ways. Memory must not grow with their number.
#include "bench/job.h"

namespace bench {
namespace {

namespace nr = neap::random;
using neap::Array;

constexpr uint64_t kSeed = 42;
constexpr int64_t kDraw = 100;

// The key is split in the carry, as a loop written by hand does it.
Array by_scan(const Array& key, int64_t steps, neap::DType dtype) {
  auto [last, sums] = neap::scan(
      [dtype](const Array& key, const Array&) {
        const Array keys = nr::split(key);
        return std::pair{keys[0], neap::sum(nr::normal(keys[1], {kDraw}, dtype))};
      },
      key, neap::arange(steps));
  return sums;
}

Array by_vmap(const Array& key, int64_t steps, neap::DType dtype) {
  return neap::vmap([dtype](const Array& key) { return neap::sum(nr::normal(key, {kDraw}, dtype)); })(
      nr::split(key, steps));
}

// Outside jit, one operation at a time; draws the same keys as by_scan.
class EagerLoop : public Job {
 public:
  EagerLoop(int64_t steps, neap::DType dtype) : steps_(steps), dtype_(dtype) {}
  // The operations are compiled when they first run.
  void compile() override {
    loop(2);
    drop_outputs();
  }
  void run() override { loop(steps_); }

 private:
  void loop(int64_t steps) {
    outputs.reserve(static_cast<size_t>(steps));
    Array key = nr::key(kSeed);
    for (int64_t i = 0; i < steps; ++i) {
      const Array keys = nr::split(key);
      outputs.push_back(neap::sum(nr::normal(keys[1], {kDraw}, dtype_)));
      key = keys[0];
    }
  }

  int64_t steps_;
  neap::DType dtype_;
};

std::unique_ptr<Job> build(const Request& r) {
  const int64_t steps = r.shape[0];
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  std::unique_ptr<Job> job;
  if (r.form == "eager") {
    job = std::make_unique<EagerLoop>(steps, dtype);
    job->argument_bytes = static_cast<size_t>(steps) * 64;
  } else {
    const auto f = [=, vmapped = r.form == "vmap"](const Array& key) {
      return vmapped ? by_vmap(key, steps, dtype) : by_scan(key, steps, dtype);
    };
    job = make_job(r, f, std::tuple{neap::spec({2}, neap::u32)}, [] { return std::tuple{nr::key(kSeed)}; });
  }
  job->output_bytes = static_cast<size_t>(steps) * neap::size_of(dtype);
  job->elements = static_cast<double>(steps * kDraw);
  return job;
}

}  // namespace

void add_random_loop_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "random-loop";
  c.what = "steps x the sum of normal[100]: a scan that splits its key, a vmap over split keys, an eager loop";
  c.size_means = "steps";
  c.size = {100'000};
  c.full = {1'000'000};
  c.dtypes = {"f32", "bf16", "f16", "f64"};
  c.forms = {"scan", "vmap", "eager"};
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
