// Runs a compiled function and measures it: what the plan promises is what the allocator saw, to the byte.
#pragma once

#include <gtest/gtest.h>
#include <neap/neap.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace neap {

struct Measured {
  size_t planned = 0, measured = 0, naive = 0;
  std::vector<Array> outputs;
  Plan plan;
};

inline size_t counted(size_t bytes) { return (bytes + 63) & ~size_t{63}; }
inline size_t counted(const std::vector<Array>& arrays) {
  size_t bytes = 0;
  for (const Array& a : arrays) bytes += counted(a.bytes());
  return bytes;
}

inline bool has(const Plan& plan, const std::string& strategy) {
  return std::ranges::count(plan.strategies(), strategy) > 0;
}

inline bool same_bits(const Array& a, const Array& b) { return std::ranges::equal(a.raw(), b.raw()); }

/// Expects what f computes when compiled to be what the reference interpreter computes, to the bit, as sums, products
/// and choices of f32 and less are.
template <class F>
void expect_reference(const F& f, const std::vector<Array>& x, const std::string& what = "") {
  const std::vector<Array> got = jit(f)(x);
  const eager_reference plain;
  const std::vector<Array> want = f(x);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].dtype(), want[i].dtype());
    EXPECT_TRUE(same_bits(got[i], want[i])) << what << " output " << i << ": " << got[i] << ", not " << want[i];
  }
}

/// Calls f, compiled before, and holds plan, JSON report and allocator against each other. `captured`: arrays that f
/// closed over.
template <class F, class... A>
Measured measure_capturing(const std::vector<Array>& captured, const F& f, const A&... arguments) {
  f.compile(arguments...);
  const size_t held = counted(tree_leaves(std::tie(arguments...))) + counted(captured);
  synchronize();
  const Device device = default_device();
  const size_t others = memory::live_bytes(device) - held;
  memory::reset_peak(device);
  const auto result = f(arguments...);
  Measured m;
  m.measured = memory::peak_bytes(device) - others;
  m.outputs = tree_leaves(result);
  m.plan = f.last_plan();
  m.planned = m.plan.peak_bytes();
  m.naive = m.plan.naive_peak_bytes();
  EXPECT_EQ(m.measured, m.planned) << m.plan;
  EXPECT_GE(m.planned, m.plan.lower_bound_bytes()) << m.plan;
  size_t widest = 0;
  const auto report = nlohmann::json::parse(m.plan.to_json());
  for (const auto& step : report["steps"]) widest = std::max(widest, step["bytes_live"].get<size_t>());
  if (m.plan.num_steps() > 0) EXPECT_EQ(widest, m.planned) << m.plan;
  return m;
}

template <class F, class... A>
Measured measure(const F& f, const A&... arguments) {
  return measure_capturing({}, f, arguments...);
}

}  // namespace neap
