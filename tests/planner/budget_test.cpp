// Budgets: met, monotonic, or refused with the smallest peak that is found.
#include "planner/search/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/callback.h>
#include <neap/error.h>
#include <neap/neap.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "planner/place/place.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/search/budget_ledger.h"
#include "planner/search/make_plan.h"
#include "planner/search/program.h"
#include "programs.h"

namespace neap::planner {
namespace {

// normal(n, d) @ W.
Graph projected_normals(int64_t n) {
  Graph g;
  const ValueId key = g.add_input({{2}, DType::u32});
  const ValueId w = g.add_input({{512, 8}, DType::f32});
  g.outputs = {matmul(g, normal(g, key, {n, 512}, DType::f32), w)};
  return g;
}

bool chose(const PlanData& plan, const std::string& what, const std::string& strategy) {
  for (const Decision& d : plan.decisions) {
    if (d.what.find(what) != std::string::npos && d.chosen == strategy) return true;
  }
  return false;
}

TEST(Budget, FusedBecomesChunkedBeforeAnOpaqueConsumer) {
  const Graph g = projected_normals(1'000'000);
  const PlanData open = make_plan(g, {.strategy = Strategy::fused});
  EXPECT_GT(open.peak_bytes, size_t{2'000'000'000});
  EXPECT_TRUE(chose(open, "random_bits", "fused")) << to_text(open);
  PlanOptions options;
  options.memory_budget = size_t{36} << 20;  // the output takes 30.5
  const PlanData plan = make_plan(g, options);
  EXPECT_LE(plan.peak_bytes, *options.memory_budget);
  EXPECT_EQ(most_live(plan), plan.peak_bytes);
  EXPECT_TRUE(chose(plan, "random_bits", "chunked")) << to_text(plan);
  EXPECT_THAT(plan.strategies, testing::Contains("chunked"));
}

TEST(Budget, SmallerBudgetsNeverRaiseThePeak) {
  const Graph g = projected_normals(100'003);  // a prime: a tail is left
  PlanOptions options;
  options.want_alternatives = false;
  size_t smallest = 0;
  try {
    options.memory_budget = 1 << 10;
    make_plan(g, options);
    FAIL() << "fits in nothing";
  } catch (const BudgetError& e) {
    smallest = e.smallest_peak_bytes();
    EXPECT_THAT(e.what(), testing::HasSubstr("alive at its peak"));
    EXPECT_THAT(e.what(), testing::HasSubstr("graphs.h:"));
  }
  ASSERT_GT(smallest, size_t{100'003 * 8 * 4});
  size_t previous = 0;
  for (const double factor : {1.0, 1.1, 1.5, 2.0, 4.0, 8.0, 100.0}) {
    options.memory_budget = static_cast<size_t>(static_cast<double>(smallest) * factor);
    const PlanData plan = make_plan(g, options);
    EXPECT_LE(plan.peak_bytes, *options.memory_budget);
    EXPECT_GE(plan.peak_bytes, previous);
    previous = plan.peak_bytes;
  }
}

// Around the first product alone the second is computed in slices too, but its sum is not; around both it is, of the
// same values in the same slices.
TEST(Budget, RegionsThatSumMoreAreOthers) {
  Graph g;
  const int64_t rows = int64_t{1} << 16;
  const ValueId x = g.add_input({{rows, 64}, DType::f32}), w = g.add_input({{64, 64}, DType::f32});
  const ValueId first = matmul(g, x, w), second = matmul(g, first, w);
  const ValueId positive = g.add(Op::maximum, {second, splat(g, 0, DType::f32, {rows, 64})});
  g.outputs = {reduce_sum(g, g.add(Op::multiply, {first, positive}), {1}), reduce_sum(g, positive, {0})};
  PlanOptions options;
  options.memory_budget = size_t{18} << 20;  // the argument takes 16, each product as much
  EXPECT_LE(make_plan(g, options).peak_bytes, *options.memory_budget);
}

TEST(Budget, PinnedChunksSliceTheOutput) {
  Graph g;
  const ValueId key = g.add_input({{2}, DType::u32});
  g.outputs = {normal(g, key, {4096, 4096}, DType::bf16)};
  PlanOptions options;
  options.strategy = Strategy::chunked;
  options.chunks = 8;
  const PlanData plan = make_plan(g, options);
  EXPECT_TRUE(chose(plan, "random_bits", "chunked")) << to_text(plan);
  // The slices are written where they belong.
  EXPECT_LE(plan.peak_bytes, size_t{4096} * 4096 * 2 + 4096) << to_text(plan);
}

TEST(Budget, WhatIsLeftOfAnAxisIsWrittenBehindTheSlices) {
  Graph g;
  const ValueId key = g.add_input({{2}, DType::u32});
  g.outputs = {normal(g, key, {1000, 333}, DType::bf16)};
  for (const int64_t chunks : {1, 4, 7, 1000}) {
    PlanOptions options;
    options.strategy = Strategy::chunked;
    options.chunks = chunks;
    const PlanData plan = make_plan(g, options);
    EXPECT_TRUE(chose(plan, "random_bits", "chunked"));
    EXPECT_LE(plan.peak_bytes, size_t{1000} * 333 * 2 + 1024) << chunks << "\n" << to_text(plan);
  }
}

// Scores of all pairs never exist whole: rows of queries go one slice after the other.
TEST(Budget, AttentionRunsInSlicesOfItsQueries) {
  Graph g;
  const Shape all{4, 4096, 4096};
  const ValueId q = g.add_input({{4, 4096, 64}, DType::f32}), k = g.add_input({{4, 4096, 64}, DType::f32});
  const ValueId v = g.add_input({{4, 4096, 64}, DType::f32});
  const auto dot = [&](ValueId a, ValueId b, int64_t contract) {
    return g.add(Op::dot_general, {a, b},
                 {{Attr::lhs_batch, Ints{0}},
                  {Attr::rhs_batch, Ints{0}},
                  {Attr::lhs_contract, Ints{2}},
                  {Attr::rhs_contract, Ints{contract}}});
  };
  const ValueId scores = dot(q, k, 2);
  const ValueId most = g.add(Op::reduce_max, {scores}, {{Attr::axes, Ints{2}}});
  const ValueId e = g.add(Op::exp, {g.add(Op::subtract, {scores, broadcast(g, most, all, {0, 1})})});
  g.outputs = {dot(g.add(Op::divide, {e, broadcast(g, reduce_sum(g, e, {2}), all, {0, 1})}), v, 1)};
  EXPECT_GT(make_plan(g, {.strategy = Strategy::fused}).peak_bytes, size_t{256} << 20);
  PlanOptions options;
  options.memory_budget = size_t{20} << 20;  // arguments and output take 16
  const PlanData plan = make_plan(g, options);
  EXPECT_LE(plan.peak_bytes, *options.memory_budget) << to_text(plan);
  EXPECT_THAT(plan.strategies, testing::Contains("chunked"));
}

// One head at a time, and of it only some queries: less than any slices of one axis.
TEST(Budget, SlicesInsideSlices) {
  Graph g;
  const ValueId q = g.add_input({{8, 1024, 32}, DType::f32}), k = g.add_input({{8, 1024, 32}, DType::f32});
  const auto dot = [&](ValueId a, ValueId b, int64_t contract) {
    return g.add(Op::dot_general, {a, b},
                 {{Attr::lhs_batch, Ints{0}},
                  {Attr::rhs_batch, Ints{0}},
                  {Attr::lhs_contract, Ints{2}},
                  {Attr::rhs_contract, Ints{contract}}});
  };
  const ValueId keys = g.add(Op::tanh, {k});  // large by themselves if all heads have theirs at once
  g.outputs = {dot(g.add(Op::exp, {dot(q, keys, 2)}), keys, 1)};
  PlanOptions options;
  options.memory_budget = size_t{3} * 8 * 1024 * 32 * 4 + (size_t{128} << 10);  // arguments, output, an eighth
  const PlanData plan = make_plan(g, options);
  EXPECT_LE(plan.peak_bytes, *options.memory_budget);
  const bool nested = std::ranges::any_of(plan.steps, [](const PlanStep& step) {
    return step.body && std::ranges::any_of(step.body->steps, [](const PlanStep& s) { return s.body != nullptr; });
  });
  EXPECT_TRUE(nested) << to_text(plan);
}

// Whether some buffer that no step writes whole is not written in pieces either, here or in a body.
bool leaves_holes(const PlanData& plan) {
  std::vector<size_t> written(plan.buffers.size(), 0);
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of >= 0) written[buffer.alias_of] += buffer.aval.bytes();
  }
  for (const int b : plan.inputs) written[b] = plan.buffers[b].aval.bytes();
  for (const PlanStep& step : plan.steps) {
    if (step.body && leaves_holes(*step.body)) return true;
    for (const int b : step.writes) written[b] = plan.buffers[b].aval.bytes();
    for (const int b : step.scratch) written[b] = plan.buffers[b].aval.bytes();
  }
  for (size_t b = 0; b < written.size(); ++b) {
    if (written[b] < plan.buffers[b].aval.bytes()) return true;
  }
  return false;
}

TEST(Budget, JoinsThatAreTooSmallInSlicesAreWrittenWhole) {
  Graph g;
  const ValueId a = g.add_input({{1, 4, 4096}, DType::f32}), c = g.add_input({{1, 4096}, DType::f32});
  const ValueId y = g.add(Op::concatenate, {reduce_sum(g, a, {1}), c, c}, {{Attr::axis, int64_t{0}}});
  const ValueId scaled = g.add(Op::multiply, {y, splat(g, 0.01, DType::f32, {3, 4096})});
  g.outputs = {reduce_sum(g, g.add(Op::exp, {scaled}), {0})};
  PlanOptions options;
  options.memory_budget = 100'992;  // the least; slices of 16 elements
  const PlanData plan = make_plan(g, options);
  EXPECT_THAT(plan.strategies, testing::Contains("chunked"));
  EXPECT_FALSE(leaves_holes(plan)) << to_text(plan);
}

TEST(Budget, ReductionsOverTheSlicedAxisAreRunningTotals) {
  Graph g;
  const ValueId key = g.add_input({{2}, DType::u32});
  const ValueId w = g.add_input({{512, 64}, DType::f32});
  const ValueId y = matmul(g, normal(g, key, {100'000, 512}, DType::f32), w);
  g.outputs = {reduce_sum(g, g.add(Op::tanh, {y}), {0})};
  PlanOptions options;
  options.memory_budget = size_t{16} << 20;
  const PlanData plan = make_plan(g, options);
  EXPECT_LE(plan.peak_bytes, *options.memory_budget) << to_text(plan);
}

// Products of many shapes, whose buffers hardly ever fill what others leave: each plan that is tried could be placed a
// little better by much searching.
TEST(Budget, WhatIsTriedIsPlacedWithinSharedWork) {
  Graph g;
  std::minstd_rand random(32);
  std::vector<int64_t> sides(5);
  for (int64_t& side : sides) side = 32 + static_cast<int64_t>(random() % 64);
  const auto side = [&] { return sides[random() % sides.size()]; };
  const auto leaf = [&](int64_t rows, int64_t columns) {
    return g.add(Op::sin, {g.add_input({{rows, columns}, DType::f32})});
  };
  std::vector<ValueId> values{matmul(g, leaf(side(), 50), leaf(50, side()))};
  for (int i = 0; i < 24; ++i) {
    const ValueId a = values[values.size() - 1 - random() % std::min<size_t>(values.size(), 10)];
    std::vector<ValueId> fit;
    for (const ValueId b : values) {
      if (g.aval(b).shape[0] == g.aval(a).shape[1]) fit.push_back(b);
    }
    const ValueId b = !fit.empty() && random() % 4 ? fit[random() % fit.size()] : leaf(g.aval(a).shape[1], side());
    values.push_back(matmul(g, a, b));
  }
  for (size_t i = values.size() - 8; i < values.size(); ++i) {
    g.outputs.push_back(reduce_sum(g, g.add(Op::multiply, {values[i], values[i]}), {0, 1}));
  }
  PlanOptions options;
  options.want_alternatives = false;
  const size_t usual = make_plan(g, options).peak_bytes;
  constexpr int64_t kWork = 20'000'000;
  options.placing = std::make_shared<SharedPlacing>(kWork);
  options.memory_budget = 1;
  size_t least = 0;
  try {
    make_plan(g, options);
  } catch (const BudgetError& error) {
    least = error.smallest_peak_bytes();
  }
  EXPECT_GE(options.placing->left(), 0);
  EXPECT_LT(options.placing->left(), kWork) << "nothing was hard to place";
  EXPECT_GT(least, 0u);
  EXPECT_LE(least, usual);
  options.placing = std::make_shared<SharedPlacing>(kWork);
  options.memory_budget = least;
  EXPECT_EQ(make_plan(g, options).peak_bytes, least);
}

Graph attention_gradient() {
  return traced({{4, 1024, 32}, {4, 1024, 32}}, [](const tracing::Arrays& in) {
    return grad(
        [&](const Array& q) { return sum(square(matmul(softmax(matmul(q, swapaxes(in[1], -1, -2))), in[1]))); })(in[0]);
  });
}

Graph density_gradient() {
  return traced({{400, 2}, {20'000, 2}}, [](const tracing::Arrays& in) {
    return grad([&](const Array& q) {
      const Array squares = sum(square(expand_dims(q, 1) - expand_dims(in[1], 0)), {2});
      return sum(logsumexp(-0.5f * squares, {1}));
    })(in[0]);
  });
}

Graph recurrence_gradient() {
  return traced({{2000, 8}, {64, 64}}, [](const tracing::Arrays& in) {
    return grad([&](const Array& w) {
      const auto step = [&](const Array& h, const Array& x) {
        return std::pair(tanh(matmul(h, w) + expand_dims(x, 1)), nullptr);
      };
      return sum(scan(step, zeros({8, 64}), in[0]).first);
    })(in[1]);
  });
}

// Sinkhorn iterations, whose distances are made before the loop.
Graph distances() {
  return traced({{900, 2}, {800, 2}}, [](const tracing::Arrays& in) {
    const Array cost = sum(square(expand_dims(in[0], 1) - expand_dims(in[1], 0)), {2});
    const auto step = [&](const Array& g, std::nullptr_t) {
      const Array f = -logsumexp(expand_dims(g, 0) - cost, {1});
      return std::pair(-logsumexp(expand_dims(f, 1) - cost, {0}), nullptr);
    };
    return scan(step, zeros({800}), nullptr, 10).first;
  });
}

// Whoever gives more memory waits no longer: budgets from the least peak to the one without any.
TEST(Budget, MoreMemoryTakesNoLonger) {
  for (const Graph& g : {attention_gradient(), density_gradient(), recurrence_gradient(), distances()}) {
    PlanOptions options;
    options.want_alternatives = false;
    const PlanData usual = make_plan(g, options);
    const size_t least = tradeoff(g, options).back().peak_bytes;
    ASSERT_LT(least, usual.peak_bytes);
    double fastest = std::numeric_limits<double>::infinity();
    constexpr int kBudgets = 8;
    for (int i = 0; i < kBudgets; ++i) {
      const double part = i / (kBudgets - 1.0);
      const double range = static_cast<double>(usual.peak_bytes) / static_cast<double>(least);
      options.memory_budget = static_cast<size_t>(static_cast<double>(least) * std::pow(range, part)) + 1;
      const PlanData plan = make_plan(g, options);
      EXPECT_LE(plan.peak_bytes, *options.memory_budget);
      EXPECT_LE(plan.predicted_seconds, kAsFast * fastest) << i;
      fastest = std::min(fastest, plan.predicted_seconds);
    }
  }
}

// Without a budget, no more is held than takes about as long.
TEST(Budget, WhatCostsNoTimeIsLowered) {
  const Graph g = traced({{4000, 256}, {256, 3000}},
                         [](const tracing::Arrays& in) { return sum(log(sum(exp(matmul(in[0], in[1])), {1}))); });
  const Program program(g);
  const Planned fused = plan_simplified(program.simple(), {}, {});
  const std::optional<PlanData> lowered = lower_for_free(program.simple(), fused.plan, {});
  ASSERT_TRUE(lowered);
  EXPECT_LT(lowered->peak_bytes, fused.plan.peak_bytes / 2);
  EXPECT_LE(lowered->predicted_seconds, 1.1 * fused.plan.predicted_seconds);
}

TEST(Budget, TheCurveHasNoPointThatIsWorseInBoth) {
  const std::vector<Tradeoff> curve = curve_of({{100, 1, "usual"},
                                                {90, 3, "a"},
                                                {120, 0.1, "more"},
                                                {80, 2, "b"},
                                                {80, 4, "c"},
                                                {70, 5, "d"},
                                                {60, 5, "e"},
                                                {100, 0.5, "same"}});
  std::vector<std::string> names;
  for (const Tradeoff& point : curve) names.push_back(point.how);
  EXPECT_EQ(names, (std::vector<std::string>{"usual", "b", "e"}));
}

// Nothing lower is sought where arguments and results alone hold nearly all.
TEST(Budget, NothingIsSoughtBelowArgumentsAndResults) {
  const auto is_sought = [](bool donated, bool waits) {
    Graph g;
    const ValueId x = g.add_input({{1000, 1000}, DType::f32});
    ValueId y = g.add(Op::sin, {x});
    if (waits) y = matmul(g, matmul(g, y, y), y);
    g.outputs = {y};
    PlanOptions options;
    options.donated = {donated};
    const Program program(g, {});
    return !BudgetLedger(plan_simplified(program.simple(), options, {}).plan, {}, Wanted::better).done();
  };
  for (const bool donated : {false, true}) {  // the sine is in the argument's place
    EXPECT_FALSE(is_sought(donated, false));
    EXPECT_TRUE(is_sought(donated, true));
  }
}

// Without a budget no plan is made to the end that takes much longer than the usual one; with one it may be what fits.
TEST(Budget, OnlyBudgetsAskForSlowPlans) {
  const auto sines = [](int count) {
    Graph g;
    ValueId v = g.add_input({{1'000'000}, DType::f32});
    for (int i = 0; i < count; ++i) v = g.add(Op::sin, {v});
    g.outputs = {v};
    return g;
  };
  const Graph fast = sines(10), slow = sines(20);
  const PlanData usual = plan_simplified(fast, {}, {}).plan;
  BudgetLedger better(usual, {}, Wanted::better), fitting(usual, {.memory_budget = 1 << 20}, Wanted::fitting);
  EXPECT_TRUE(better.try_plan(fast, {}));
  EXPECT_FALSE(better.try_plan(slow, {}));
  EXPECT_TRUE(fitting.try_plan(slow, {}));
  EXPECT_EQ(better.spent(), fitting.spent() + 50 + 10);  // what is given up counts as well
}

// What the search with a budget tries on its way is not all that the one without tries.
TEST(Budget, GetsWhatTheTradeoffNames) {
  const auto f = [](const Array& x) {
    const auto nothing = [](const Array&) {};
    const auto step = [&](const Array& i, const Array& c) {
      debug::callback(nothing, i);
      return cumsum(sin(c));
    };
    std::vector<Array> all{cumsum(x * 2), fori_loop(0, 2, step, x)};
    Array s = sum(x);
    for (int i = 0; i < 8; ++i) {
      all.push_back(sort(all.back() * s));
      if (i % 2) debug::callback(nothing, s * i);
      s = sum(all.back()) + s;
    }
    for (int i = 8; i-- > 0;) s = s + sum(cumsum(all[i] * s));
    debug::callback(nothing, s);
    return s;
  };
  const Array x = spec({1 << 16}, f32);
  const std::vector<Tradeoff> curve = jit(f).tradeoff(x);
  ASSERT_GT(curve.size(), 4u);
  for (const Tradeoff& point : std::span(curve).last(3)) {
    const Plan plan = jit(f, {.memory_budget = point.peak_bytes}).plan(x);
    EXPECT_LE(plan.peak_bytes(), point.peak_bytes);
  }
}

}  // namespace
}  // namespace neap::planner
