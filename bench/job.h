// A job: one case at one size, ready to be planned, compiled, given its arguments, and run.
#pragma once

#include <neap/neap.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/case.h"

namespace bench {

class Job {
 public:
  virtual ~Job() = default;

  // From shapes alone; nothing is allocated. nullopt where there is nothing to plan (a loop outside jit).
  virtual std::optional<neap::Plan> plan() { return std::nullopt; }
  virtual void compile() {}
  virtual void make_arguments() {}
  // Before each repetition, untimed: makes again what the run before it has taken.
  virtual void restock() {}
  // Computes the outputs and keeps them.
  virtual void run() = 0;
  virtual void drop_outputs() { outputs.clear(); }
  // After everything was measured: what else the case has to show, as text for the table.
  virtual std::string remarks() { return {}; }

  std::vector<neap::Array> outputs;
  size_t output_bytes = 0;
  double elements = 1;        // what elements_per_second counts, of one call
  int calls = 1;              // calls that one run() makes
  bool first_call = false;    // the first run is what is measured, in this process before anything else
  size_t argument_bytes = 0;  // captured arrays too
};

neap::Device device_of(const Request& r);
neap::JitOptions jit_options(const Request& request);
// The size of the arrays in a tree of specs.
template <class Tree>
size_t tree_bytes(const Tree& tree) {
  size_t bytes = 0;
  for (const neap::Array& a : neap::tree_leaves(tree)) bytes += (a.bytes() + 63) / 64 * 64;
  return bytes;
}

// f, compiled for the specs (a tuple), called on what make() returns (a tuple of the same arrays, concrete).
template <class Jitted, class Specs, class Make>
class JittedJob : public Job {
 public:
  JittedJob(Jitted f, Specs specs, Make make, neap::Device device)
      : f_(std::move(f)), specs_(std::move(specs)), make_(std::move(make)), device_(device) {
    argument_bytes = tree_bytes(specs_);
  }

  std::optional<neap::Plan> plan() override {
    return std::apply([&](const auto&... s) { return f_.plan(s...); }, specs_);
  }
  void compile() override {
    std::apply([&](const auto&... s) { f_.compile(s...); }, specs_);
  }
  void make_arguments() override {
    arguments_.emplace(neap::tree_map([&](const neap::Array& a) { return neap::to_device(a, device_); }, make_()));
  }
  // The call took the memory of its first argument.
  bool donates = false;
  void restock() override {
    if (donates) make_arguments();
  }
  void run() override {
    for (int i = 0; i < calls; ++i) {
      outputs.clear();
      outputs = neap::tree_leaves(std::apply([&](const auto&... a) { return f_(a...); }, *arguments_));
    }
    for (const neap::Array& a : outputs) a.wait();
  }

  std::function<std::string(const std::vector<neap::Array>&)> describe;
  std::string remarks() override { return describe ? describe(outputs) : std::string(); }

 protected:
  Jitted f_;
  Specs specs_;
  Make make_;
  neap::Device device_;
  std::optional<Specs> arguments_;
};

template <class F, class Specs, class Make>
auto make_job(const Request& request, F f, Specs specs, Make make, bool donates = false) {
  neap::JitOptions options = jit_options(request);
  if (donates) options.donate = {0};
  auto jitted = neap::jit(std::move(f), options);
  auto job = std::make_unique<JittedJob<decltype(jitted), Specs, Make>>(std::move(jitted), std::move(specs),
                                                                        std::move(make), device_of(request));
  job->donates = donates;
  return job;
}

// A training step: its first argument, the state, is donated.
template <class F, class Specs, class Make>
auto make_step_job(const Request& request, F f, Specs specs, Make make) {
  return make_job(request, std::move(f), std::move(specs), std::move(make), true);
}

// --- arguments, filled on the host: making them neither compiles nor leaves pages behind.

// Index rows i32 or i16 [n, 3] into a cube of `side`; `negative`: half of them count from the end; `skewed`: half of
// the rows name one cell.
neap::Array index_rows(int64_t n, neap::DType dtype, bool negative, bool skewed);
// Uniform in [-scale, scale).
neap::Array host_uniform(const neap::Shape& shape, neap::DType dtype, uint32_t seed, float scale = 1);
// Integers i32 in [0, limit).
neap::Array host_indices(const neap::Shape& shape, int64_t limit, uint32_t seed);

inline neap::Array spec_of(const neap::Shape& shape, neap::DType dtype = neap::f32) { return neap::spec(shape, dtype); }

// f on uniform numbers in [-1, 1) of these specs.
template <class F, class... A>
std::unique_ptr<Job> uniform_job(const Request& r, F f, double elements, const A&... specs) {
  const std::tuple all{specs...};
  auto job = make_job(r, std::move(f), all, [=] {
    uint32_t seed = 0;
    return neap::tree_map([&](const neap::Array& s) { return host_uniform(s.shape(), s.dtype(), ++seed, 1); }, all);
  });
  job->elements = elements;
  return job;
}

// So many thousandths of an extent, two at least, where the size of a case is one number.
inline int64_t part_of(int64_t extent, const Request& r) { return std::max<int64_t>(2, extent * r.shape[0] / 1000); }

// A form of a case, with a program of its own.
struct Form {
  std::string_view name;
  std::unique_ptr<Job> (*build)(const Request&);
};
// Gives a case these forms; they outlive it.
inline void offer_forms(Case& c, std::span<const Form> forms) {
  c.forms.clear();
  for (const Form& form : forms) c.forms.emplace_back(form.name);
  c.build = [forms](const Request& r) {
    return std::ranges::find(forms, r.form, &Form::name)->build(r);  // resolve() lets no other form pass
  };
}

}  // namespace bench
