// What must hold for every program, however it is planned.
#pragma once

#include <neap/device.h>
#include <neap/ops.h>
#include <neap/transforms.h>

#include <utility>

#include "jit/compile.h"
#include "planner/kernels/naive_bound.h"
#include "planner/plan/plan.h"
#include "planner/search/better.h"
#include "planner/search/make_plan.h"
#include "planner/search/program.h"
#include "tests/conformance/check_plans.h"
#include "tests/conformance/random_program.h"
#include "tests/conformance/shrink.h"

namespace neap::conformance {

/// How far one op's result may be from the reference's, for the operands that it had.
inline Tolerance local_tolerance(const Graph& graph, const tracing::Node& node) {
  const DType t = graph.aval(node.out()).dtype;
  if (!is_float(t) || node.op == Op::convert || node.op == Op::bitcast) return {};
  if (!tracing::is_elementwise(node.op)) return {};
  if (t == f64) return {4, node.op == Op::digamma ? 1e-14 : 0};
  if (t != f32) return {1};
  return {node.op == Op::erf_inv ? 4 : 2};
}

inline void expect_same(const Arrays& got, const Arrays& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(difference(got[i], want[i], kSameBits), "") << "output " << i << ", " << what;
}

inline void expect_same(const Run& got, const Run& want, const std::string& what) {
  expect_same(got.outputs, want.outputs, what);
  EXPECT_EQ(got.said, want.said) << what;
}

/// Naive, with every value an output: each node must be what the reference makes of the operands that it had, and say
/// what it says there.
inline void check_nodes(const Graph& graph, const Arrays& inputs, const Run& planned) {
  std::vector<Array> value_of;
  EXPECT_EQ(printed([&] { value_of = all_values(graph, inputs); }), planned.said) << "naive";
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    EXPECT_EQ(difference(planned.outputs[i], value_of[graph.outputs[i]], kSameBits), "")
        << "%" << graph.outputs[i] << " differs from naive";
  std::string said;
  for (const tracing::Node& node : graph.nodes) {
    std::vector<HostArray> in, expected;
    Arrays taken;
    for (const ValueId v : node.inputs) taken.push_back(as_taken(value_of[v]));
    for (const Array& x : taken) in.push_back({x.aval(), x.impl()->data});
    said += printed([&] { expected = tracing::evaluate_reference(node.op, in, node.attrs); });
    for (size_t i = 0; i < expected.size(); ++i) {
      const Array want = detail::make_concrete(expected[i].aval, expected[i].data);
      EXPECT_EQ(difference(value_of[node.outputs[i]], want, local_tolerance(graph, node)), "")
          << "%" << node.outputs[i] << " = " << tracing::name(node.op);
    }
  }
  EXPECT_EQ(planned.said, said) << "the reference";
}

/// The smallest peak that planning finds; no budget below it is met.
template <class F>
size_t smallest_peak(const F& with_budget, const Arrays& inputs) {
  size_t least = 0;
  try {
    with_budget(1).compile(inputs);
  } catch (const BudgetError& e) {
    least = e.smallest_peak_bytes();
  }
  EXPECT_GT(least, 1u);
  EXPECT_THROW(with_budget(least - 1).compile(inputs), BudgetError);
  return least;
}

/// Budgets from the smallest feasible on are met, a smaller one never with a larger peak, and change no bit.
inline void check_budgets(const Graph& graph, const Arrays& inputs, const Run& free) {
  const auto with_budget = [&](size_t budget) { return jitted(graph, {.memory_budget = budget}); };
  const size_t least = smallest_peak(with_budget, inputs);
  EXPECT_LE(least, free.planned);
  size_t previous = 0;
  constexpr size_t kRungs = 6;
  for (size_t i = 0; i <= kRungs; ++i) {
    const size_t budget = least + (free.planned - least) * i / kRungs;
    const size_t peak = with_budget(budget).plan(inputs).peak_bytes();
    EXPECT_LE(peak, budget);
    EXPECT_GE(peak, previous) << "budget " << budget;
    if (i == 0) EXPECT_EQ(peak, least);
    if (std::exchange(previous, peak) == peak) continue;  // the same plan
    const Run tight = run(graph, inputs, {.memory_budget = budget});
    EXPECT_EQ(tight.planned, peak);
    EXPECT_EQ(tight.measured, tight.planned) << "budget " << budget;
    expect_same(tight, free, "budget");
  }
}

/// Planned never holds more than naive, but for what planner/search/better.h allows; a bound of naive is known ahead.
inline void check_beside_naive(const Graph& graph, const Run& planned) {
  const planner::Target target = jit_detail::target_of(default_device());
  const planner::PlanData naive =
      planner::make_plan(graph, {.naive = true, .target = target, .want_alternatives = false});
  EXPECT_FALSE(planner::exceeds_naive({planned.planned, planned.predicted_seconds}, planner::price_of(naive)))
      << planned.planned << " bytes, naive " << naive.peak_bytes;
  EXPECT_LE(planner::naive_peak_at_least(planner::Program(graph, target).light(), target), naive.peak_bytes);
}

/// A batch gives row by row what each row alone gives.
inline void check_vmap(const Graph& graph, uint64_t seed) {
  // Offsets of random bits are the planner's own, made after every vmap.
  for (const tracing::Node& node : graph.nodes)
    if (node.op == Op::random_bits && node.inputs.size() == 2) return;
  constexpr int64_t kRows = 3;
  Random random(seed);
  std::vector<Arrays> rows(kRows);
  Arrays stacked;
  for (const ValueId v : graph.inputs) {
    Arrays column;
    for (Arrays& row : rows) {
      row.push_back(random_array(graph.aval(v), Fill::tame, random));
      column.push_back(row.back());
    }
    stacked.push_back(stack(column));
  }
  const auto one = [graph](const Arrays& in) { return tracing::inline_graph(graph, in); };
  const auto f = jit(one);
  const auto batched = jit(vmap(one));
  const Run all = called(batched, stacked);
  const auto with_budget = [&](size_t budget) { return jit(vmap(one), {.memory_budget = budget}); };
  const size_t least = smallest_peak(with_budget, stacked);
  expect_same(called(with_budget(least), stacked), all, "vmap under a budget");
  std::string said;
  for (int64_t i = 0; i < kRows; ++i) {
    Arrays row;
    for (const Array& a : all.outputs) row.push_back(a[i]);
    const Run alone = called(f, rows[i]);
    expect_same(row, alone.outputs, fmt::format("row {} of vmap", i));
    said += alone.said;
  }
  EXPECT_EQ(sorted_lines(all.said), sorted_lines(said)) << "vmap";
}

inline void check_graph(const Graph& graph, const Arrays& inputs, uint64_t seed) {
  const auto f = jitted(graph);
  const Run planned = run_compiled(f, inputs);
  EXPECT_EQ(planned.measured, planned.planned);
  check_beside_naive(graph, planned);
  check_threads(graph, {.target = jit_detail::target_of(default_device())});
  {
    const Threads one(1);
    expect_same(called(seed % 8 == 1 ? jitted(graph) : f, inputs), planned, "one thread");
  }
  check_nodes(graph, inputs, planned);
  if (seed % 4 == 0) {
    const Run naive = run(graph, inputs, {.pipeline = Pipeline::naive});
    EXPECT_EQ(naive.measured, naive.planned) << "naive";
    expect_same(naive, planned, "naive");
  }
  if (seed % 8 == 2) check_budgets(graph, inputs, planned);
  if (seed % 8 == 3) check_vmap(graph, seed);
}

/// Checks the program of this seed; prints it where something is wrong.
inline void check_program(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const bool failed_before = testing::Test::HasFailure();
  ProgramMaker maker(seed);
  try {
    maker.make();
    check_graph(maker.graph, maker.inputs, seed);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
  if (!failed_before && testing::Test::HasFailure()) ADD_FAILURE() << tracing::print(maker.graph);
}

}  // namespace neap::conformance
