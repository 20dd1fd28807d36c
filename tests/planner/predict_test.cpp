// Predicted times: what bytes cost by the cache in which they lie, and what steps read.
#include "planner/kernels/predict.h"

#include <gtest/gtest.h>
#include <neap/neap.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "graphs.h"
#include "planner/kernels/cost.h"
#include "planner/pipeline/pipeline.h"
#include "planner/rewrite/simplify.h"
#include "programs.h"

namespace neap::planner {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Planned planned(const Graph& g, const PlanOptions& options = {}) { return plan_simplified(simplify(g), options, {}); }

// What the steps of a plan read, in units.
double units_read(const Planned& p) {
  double units = 0;
  for (const StepTraffic& step : plan_traffic(p.plan, p.plan.peak_bytes)) {
    for (size_t i = 0; i < step.read.size(); ++i) units += step.read[i] * step.read_costs[i];
  }
  return units;
}

TEST(Predict, BytesCostMoreTheLongerTheyWereNotTouched) {
  double before = 0;
  for (double distance = 1e4; distance < 1e10; distance *= 1.3) {
    const auto [read, write] = byte_cost(distance);
    EXPECT_GE(read, before);
    EXPECT_LE(read, 1.3 * std::max(before, predicted::kLevels[0].read)) << distance;  // no step anywhere
    EXPECT_LE(write, read);
    before = read;
  }
  EXPECT_EQ(before, byte_cost(kInf).read);
}

// A column that is divided by its sum: the second step reads what the first has just read.
TEST(Predict, WhatWasJustReadIsInACache) {
  const auto normalize = [](const tracing::Arrays& in) { return in[0] / sum(in[0]); };
  for (const auto& [n, cost] :
       {std::pair{int64_t{1000}, byte_cost(0).read}, {int64_t{1} << 28, byte_cost(kInf).read}}) {
    const Planned p = planned(traced({{n}}, normalize));
    const std::vector<StepTraffic> steps = plan_traffic(p.plan, p.plan.peak_bytes);
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[1].read_costs[0], cost) << n;
  }
  const Planned small = planned(traced({{1000}}, normalize)),
                naive = planned(traced({{1000}}, normalize), {.naive = true});
  for (const StepTraffic& step : plan_traffic(naive.plan, naive.plan.peak_bytes)) {
    for (const double cost : step.read_costs) EXPECT_EQ(cost, byte_cost(kInf).read);  // each buffer is new memory
  }
  EXPECT_LT(small.plan.predicted_seconds, naive.plan.predicted_seconds);
}

// An invariant of a loop stays in a cache where it fits; a slice a step of something large does not.
TEST(Predict, LoopsReadInvariantsFromCachesAndSlicesFromMemory) {
  const auto seconds = [](int64_t n, bool slices, int64_t steps) {
    const Graph g = traced({{n}, {slices ? steps : 1, n}}, [&](const tracing::Arrays& in) {
      const auto step = [&](const Array& c, const Array& x) { return std::pair(c * 0.5f + x, nullptr); };
      const auto fixed = [&](const Array&, const Array& c) { return c * 0.5f + reshape(in[1], {n}); };
      return slices ? scan(step, in[0], in[1]).first : fori_loop(0, steps, fixed, in[0]);
    });
    return planned(g).plan.predicted_seconds / static_cast<double>(steps);
  };
  EXPECT_LT(1.5 * seconds(100'000, false, 1000), seconds(100'000, true, 1000));
  EXPECT_GT(seconds(100'000'000, false, 10), 0.9 * seconds(100'000'000, true, 10));
  EXPECT_NEAR(seconds(100'000, true, 2000) / seconds(100'000, true, 1000), 1, 1e-2);
  EXPECT_LT(seconds(100'000, true, 2), seconds(100'000, true, 1000));  // two slices stay in a cache
}

// A slice that is read twice comes from memory once; what runs once finds nothing in caches.
TEST(Predict, ASliceComesFromMemoryOnceAndALoopOfOneIterationFindsNothing) {
  const auto costs = [](int64_t length) {
    const Graph g = traced({{100'000}, {length, 100'000}}, [&](const tracing::Arrays& in) {
      const auto step = [](const Array& c, const Array& x) { return std::pair(c * 0.5f + x / sum(x), nullptr); };
      return scan(step, in[0], in[1]).first;
    });
    const Planned p = planned(g);
    const auto scan_step = std::ranges::find(p.plan.steps, PlanStep::Kind::scan, &PlanStep::kind);
    const PlanData& body = *scan_step->body;
    const tracing::CountedLoop loop(scan_step->group.nodes[0].attrs);
    std::vector<double> of_slice;  // in their order
    const std::vector<StepTraffic> steps = plan_traffic(body, size_t{1} << 30, &loop);
    for (size_t s = 0; s < steps.size(); ++s) {
      for (size_t i = 0; i < steps[s].read.size(); ++i) {
        if (body.steps[s].reads[i] == body.inputs.back()) of_slice.push_back(steps[s].read_costs[i]);
      }
    }
    return of_slice;
  };
  const double near = byte_cost(0).read, far = byte_cost(kInf).read;
  EXPECT_EQ(costs(10'000), (std::vector{far, near}));
  const Graph once = traced({{100'000}}, [](const tracing::Arrays& in) {
    return fori_loop(0, 10, [](const Array&, const Array& c) { return c * sum(c); }, in[0]);
  });
  const Planned p = planned(once);
  const auto scan_step = std::ranges::find(p.plan.steps, PlanStep::Kind::scan, &PlanStep::kind);
  tracing::CountedLoop loop(scan_step->group.nodes[0].attrs);
  EXPECT_EQ(plan_traffic(*scan_step->body, size_t{1} << 30, &loop)[0].read_costs[0], near);
  loop.length = 1;
  EXPECT_EQ(plan_traffic(*scan_step->body, scan_step->body->peak_bytes, &loop)[0].read_costs[0], far);
}

// Reading a few bytes of something large does not make it small.
TEST(Predict, APartThatIsTouchedLeavesTheWholeInTheWay) {
  const auto cost = [](bool part) {
    const Graph g = traced({{250'000}, {1 << 26}}, [&](const tracing::Arrays& in) {
      const Array total = sum(in[0]) + sum(in[1]);
      return part ? total + sum(slice_in_dim(in[1], 5, 6, 0)) : total;
    });
    const Planned p = planned(g);
    for (size_t s = 0; s < p.plan.steps.size(); ++s) {
      const PlanStep& step = p.plan.steps[s];
      if (step.reads[0] == p.plan.inputs[0]) return plan_traffic(p.plan, p.plan.peak_bytes)[s].read_costs[0];
    }
    return 0.0;
  };
  EXPECT_EQ(cost(false), byte_cost(kInf).read);
  EXPECT_EQ(cost(true), byte_cost(kInf).read);
}

// Rows of a large table are not in a cache because few bytes are read.
TEST(Predict, PartsAreAsFarAsTheWhole) {
  const auto row = [](const tracing::Arrays& in) { return 2.f * dynamic_slice(in[0], in[1], {1000}); };
  const auto cost = [&](int64_t n) {
    const std::array avals{Aval{{n}, DType::f32}, Aval{{1}, DType::i32}};
    return units_read(
        planned(tracing::trace_closed(avals, [&](const tracing::Arrays& in) { return tracing::Arrays{row(in)}; })));
  };
  EXPECT_GT(cost(1 << 28), 3 * cost(2000));
  EXPECT_LT(cost(1 << 28), 1.1 * cost(1 << 27));  // but no more of them are
}

// Gathers fetch lines, of which some are the same: more of them fetch more, up to the whole table.
TEST(Predict, GathersShareLines) {
  constexpr int64_t kTable = 1 << 20, kRows = 1 << 16;
  const auto fetched = [](int gathers) {
    std::vector<Aval> avals{{{kTable}, DType::f32}};
    avals.resize(1 + static_cast<size_t>(gathers), {{kRows}, DType::i32});
    const PlanData plan = planned(tracing::trace_closed(avals, [](const tracing::Arrays& in) {
                            Array total = take(in[0], in[1]);
                            for (size_t i = 2; i < in.size(); ++i) total = total + take(in[0], in[i]);
                            return tracing::Arrays{total};
                          })).plan;
    EXPECT_EQ(plan.steps.size(), 1u);
    for (size_t i = 0; i < plan.steps[0].reads.size(); ++i) {
      if (plan.steps[0].reads[i] == plan.inputs[0]) return plan_traffic(plan, plan.peak_bytes)[0].read[i];
    }
    return 0.0;
  };
  const double table = 4.0 * kTable, lines = 64.0 * kRows;
  EXPECT_NEAR(fetched(1), table * (1 - std::exp(-lines / table)), 1);
  EXPECT_NEAR(fetched(3), table * (1 - std::exp(-3 * lines / table)), 1);
  EXPECT_LE(fetched(20), table);
}

// What is computed for a slice alone is computed for no more; what a broadcast repeats, as often.
TEST(Predict, ValuesAreComputedAsOftenAsTheyAreRead) {
  const auto times = [](const std::function<Array(const Array&)>& of_sine) {
    const Graph g = simplify(traced({{8, 100}}, [&](const tracing::Arrays& in) { return of_sine(sin(in[0])); }));
    for (const tracing::Node& node : g.nodes) {
      if (node.op == tracing::Op::sin) return times_computed(g)[node.out()];
    }
    return 0.0;
  };
  EXPECT_EQ(times([](const Array& x) { return 2.f * x; }), 1);
  EXPECT_EQ(times([](const Array& x) { return 2.f * slice_in_dim(x, 0, 2, 0); }), 0.25);
  EXPECT_EQ(times([](const Array& x) { return slice_in_dim(x, 0, 2, 0) * slice_in_dim(x, 4, 6, 0); }), 0.5);
  EXPECT_EQ(times([](const Array& x) { return x + sum(slice_in_dim(x, 0, 2, 0)); }), 1.25);
  EXPECT_EQ(times([](const Array& x) { return broadcast_to(x, {3, 8, 100}) + 1.f; }), 3);
  EXPECT_EQ(times([](const Array& x) { return broadcast_to(slice_in_dim(x, 0, 2, 0), {3, 2, 100}) + 1.f; }), 0.75);
}

// A step that is short is no faster on several threads.
TEST(Predict, ShortStepsAreOneThreads) {
  const auto seconds = [](int64_t n) {
    return planned(traced({{n}}, [](const tracing::Arrays& in) { return sin(in[0]); })).plan.predicted_seconds;
  };
  const double each = (seconds(200'000) - seconds(100'000)) / 100'000;
  EXPECT_NEAR((seconds(1000) - seconds(500)) / 500, predicted::kThreads * each, 0.1 * each);
  EXPECT_LT(seconds(100'000), predicted::kThreads * each * 100'000);
}

// Keys that are split and stored take longer than keys made with a number, and than those of one key.
TEST(Predict, SplitsOfManyKeysAreDear) {
  const auto of = [](const std::function<Array(const Array& many, const Array& one)>& make) {
    const std::array avals{Aval{{50'000, 2}, DType::u32}, Aval{{2}, DType::u32}};
    const auto keys = [&](const tracing::Arrays& in) { return tracing::Arrays{make(in[0], in[1])}; };
    return planned(tracing::trace_closed(avals, keys)).plan.predicted_seconds;
  };
  const double split = of([](const Array& many, const Array&) {
    return vmap([](const Array& key) { return random::split(key, 2); })(many);
  });
  EXPECT_GT(split, 1.5 * of([](const Array& many, const Array&) {
                     return vmap([](const Array& key) { return random::fold_in(key, 3); })(many);
                   }));
  EXPECT_GT(split, 1.5 * of([](const Array&, const Array& one) { return random::split(one, 100'000); }));
}

// Rows at random come from further away each time where no cache of a core holds the table.
TEST(Predict, RowsOfLargeTablesAreFar) {
  const auto seconds = [](int64_t table, bool adds) {
    const std::array avals{Aval{{table}, DType::f32}, Aval{{1'000'000}, DType::i32}, Aval{{1'000'000}, DType::f32}};
    return planned(tracing::trace_closed(avals,
                                         [&](const tracing::Arrays& in) {
                                           return tracing::Arrays{adds ? in[0].at(in[1]).add(in[2])
                                                                       : take(in[0], in[1])};
                                         }))
        .plan.predicted_seconds;
  };
  constexpr int64_t kSmall = 10'000, kLarge = 1 << 20;
  const double streamed = 8.0 * kLarge * 4 / predicted::kUnitsPerSecond;  // a bound of what the table itself takes
  for (const bool adds : {false, true})
    EXPECT_GT(seconds(kLarge, adds), 1.3 * seconds(kSmall, adds) + streamed) << adds;
}

// A product of one tile has one thread, whose time is that of its arithmetic.
TEST(Predict, ProductsOfOneTileAreOneThreads) {
  const auto seconds = [](int64_t n) {
    return planned(traced({{n, n}}, [](const tracing::Arrays& in) { return matmul(in[0], in[0]); }))
        .plan.predicted_seconds;
  };
  const double multiplications = 64.0 * 64 * 64 * predicted::kDotMultiply / predicted::kUnitsPerSecond;
  EXPECT_LT(seconds(64), 1.6 * multiplications);
  EXPECT_GT(seconds(64), multiplications);
}

}  // namespace
}  // namespace neap::planner
