// Results lie beside the arena where that saves time and holds little more.
#include "planner/search/results_apart.h"

#include <gtest/gtest.h>

#include <neap/neap.h>

#include <algorithm>
#include <utility>

#include "planner/plan/plan.h"

namespace neap::planner {
namespace {

// Of n elements or more: before the result is there, as many as x has are held; beside it, n.
auto program(int64_t n) {
  return [=](const Array& x) {
    const Array scale = max(cumsum(x));
    const Array result = cumsum(x[{slice(n)}] * scale);
    return std::pair{result, max(cumsum(result * 2))};
  };
}

bool lies_apart(const Plan& plan) {
  const auto is_of_results = [](const Decision& d) { return d.what == "results"; };
  const bool said = std::ranges::any_of(plan.data().decisions, is_of_results);
  EXPECT_EQ(said, !plan.data().slab && plan.peak_bytes() > plan.data().lower_bound_bytes) << plan;
  return said;
}

TEST(ResultsApart, WhereLittleMoreIsHeld) {
  constexpr int64_t n = 100'000;
  const auto planned = [](int64_t more, JitOptions options = {}) {
    return jit(program(n), options).plan(spec({n + more}, f32));
  };
  const Plan little = planned(1008), much = planned(20'000);
  EXPECT_TRUE(lies_apart(little)) << little;
  EXPECT_LE(little.peak_bytes(), little.data().lower_bound_bytes + 4032 + 64) << little;
  EXPECT_FALSE(lies_apart(much)) << much;
  EXPECT_FALSE(lies_apart(planned(1008, {.memory_budget = little.data().lower_bound_bytes})));
}

TEST(ResultsApart, RunsHoldWhatIsPlanned) {
  constexpr int64_t n = 100'000, more = 1008;
  const auto f = jit(program(n));
  const Array x = random::uniform(random::key(1), {n + more});
  const Plan plan = f.plan(x);
  ASSERT_TRUE(lies_apart(plan)) << plan;
  const auto expected = jit(program(n), {.pipeline = Pipeline::naive})(x);
  auto got = f(x);
  for (int i = 0; i < 3; ++i) {
    got = {};
    const size_t before = memory::live_bytes() - x.bytes();
    memory::reset_peak();
    got = f(x);
    EXPECT_EQ(memory::peak_bytes() - before, plan.peak_bytes()) << plan;
    EXPECT_TRUE(array_equal(got.first, expected.first).item<bool>());
    EXPECT_TRUE(array_equal(got.second, expected.second).item<bool>());
  }
}

}  // namespace
}  // namespace neap::planner
