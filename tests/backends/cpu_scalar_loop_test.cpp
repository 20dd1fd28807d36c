// Which loops are one kernel whose rows are the iterations. (What they compute: tests/jit/scalar_loop_test.cpp.)
#include "backends/cpu/scalar_loop.h"

#include <gtest/gtest.h>
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/ops.h>

#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/jit.h"
#include "planner/search/make_plan.h"
#include "trace/tracing/tracing.h"

namespace neap::cpu {
namespace {

using List = tracing::Arrays;

// The kernel of a program's loop, if that is one.
template <class F>
std::optional<backends::Kernel> whole_loop(const std::vector<Aval>& avals, const F& f) {
  const planner::PlanData plan = planner::make_plan(tracing::trace_closed(avals, f), {});
  const Lowered lowered = lower_program(plan, host_unit(), 2);
  for (const StepCode& step : lowered.program->steps) {
    if (!step.scan.at_once) continue;
    EXPECT_EQ(step.scan.body->steps.size(), 1u);
    return *lowered.kernels.at(step.scan.body->steps.at(0).launches.at(0).kernel);
  }
  return std::nullopt;
}

constexpr auto kSeveral = [](const List& in) {
  return fori_loop(0, 10, [](const Array&, const List& s) { return List{s[1], s[0] * s[1], s[2] + 1}; }, in);
};

TEST(CpuScalarLoop, CarriesAreInRegisters) {
  const auto kernel = whole_loop({{{}, f32}, {{}, f32}, {{}, f32}}, kSeveral);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->extent, (std::array<int64_t, 2>{10, 1}));
  EXPECT_EQ(kernel->carried.size(), 3u);
}

TEST(CpuScalarLoop, CarriesMayBeStackedToo) {
  for (const bool reverse : {false, true}) {
    const auto kernel = whole_loop({{{}, f32}, {{7}, f32}}, [=](const List& in) {
      const auto step = [](const Array& s, const Array& x) {
        const Array next = s * 0.5f + x;
        return std::pair{next, List{next, s, x * s}};
      };
      auto [last, all] = scan(step, in[0], in[1], {}, reverse);
      all.push_back(last);
      return all;
    });
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->carried.size(), 1u);
    EXPECT_EQ(kernel->stores.size(), 4u);
  }
}

// An array is a register for each of its elements, where it has few and the loop is long.
TEST(CpuScalarLoop, SmallArraysAreInRegisters) {
  const auto loop = [](int64_t n, int64_t length) {
    return whole_loop({{{n}, f32}, {{n}, f32}}, [=](const List& in) {
      const auto step = [](const Array&, const List& s) { return List{s[1] + s[0], s[1] * flip(s[0], 0)}; };
      return fori_loop(0, length, step, in);
    });
  };
  const auto kernel = loop(5, 100);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->carried.size(), 10u);
  EXPECT_FALSE(loop(5, 50));
  EXPECT_FALSE(loop(17, 100));
}

TEST(CpuScalarLoop, LongCodeStaysInVectors) {
  EXPECT_FALSE(whole_loop({{{16}, f32}}, [](const List& in) {
    return List{fori_loop(0, 100, [](const Array&, const Array& s) { return tanh(sin(s) + exp(s)); }, in[0])};
  }));
  const auto roots = [](int64_t n) {
    return whole_loop({{{n}, f32}}, [](const List& in) {
      return List{fori_loop(0, 100, [](const Array&, const Array& s) { return sqrt(s) + 1 / s; }, in[0])};
    });
  };
  EXPECT_TRUE(roots(3));
  EXPECT_FALSE(roots(8));
}

TEST(CpuScalarLoop, TablesAreRead) {
  const auto kernel = whole_loop({{{}, i32}, {{50}, i32}}, [](const List& in) {
    return List{fori_loop(0, 9, [&](const Array&, const Array& i) { return take(in[1], i); }, in[0])};
  });
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->carried.size(), 1u);
}

TEST(CpuScalarLoop, OthersStayAsTheyAre) {
  EXPECT_FALSE(whole_loop({{{8}, f32}, {{8}, f32}, {{8}, f32}}, kSeveral));
  EXPECT_FALSE(whole_loop({{{}, f32}, {{8}, f32}}, [](const List& in) {
    return List{fori_loop(0, 9, [&](const Array&, const Array& s) { return s + sum(in[1] * s); }, in[0])};
  }));
  EXPECT_FALSE(whole_loop({{{}, f32}}, [](const List& in) {
    return List{while_loop([](const Array& s) { return s < 100.0f; }, [](const Array& s) { return s * 2; }, in[0])};
  }));
}

}  // namespace
}  // namespace neap::cpu
