// In place only where no element is needed after it is overwritten.
#include "planner/fuse/in_place.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/report/check.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "tests/conformance/joined_program.h"

namespace neap::planner {
namespace {

constexpr size_t kBytes = 512 * 512 * 4;

Graph after_product(ValueId (*then)(Graph&, ValueId)) {
  Graph g;
  const ValueId a = g.add_input({{512, 512}, DType::f32});
  g.outputs = {then(g, matmul(g, a, a))};
  return g;
}

size_t arrays(const PlanData& plan) {  // large blocks beside the argument
  size_t n = 0;
  for (const PlanBuffer& b : plan.buffers) {
    n += b.alias_of < 0 && b.bytes == kBytes && (b.storage == Storage::output || b.storage == Storage::intermediate);
  }
  return n;
}

TEST(Alias, AnOutputTakesADyingOperand) {
  const PlanData plan = make_plan(after_product([](Graph& g, ValueId y) { return g.add(Op::tanh, {y}); }), {});
  EXPECT_EQ(arrays(plan), 1u) << to_text(plan);
  EXPECT_EQ(plan.steps.back().strategy, Strategy::inplace);
}

TEST(Alias, NotWhereElementsMove) {
  const PlanData plan = make_plan(after_product([](Graph& g, ValueId y) {
                                    const ValueId t = g.add(Op::transpose, {y}, {{Attr::permutation, Ints{1, 0}}});
                                    return g.add(Op::add, {y, t});
                                  }),
                                  {});
  EXPECT_EQ(arrays(plan), 2u) << to_text(plan);
}

TEST(Alias, NotWhereTheOperandIsReadAgain) {
  Graph g;
  const ValueId a = g.add_input({{512, 512}, DType::f32});
  const ValueId y = matmul(g, a, a);
  const ValueId z = g.add(Op::tanh, {y});
  g.outputs = {matmul(g, y, z)};
  const PlanData plan = make_plan(g, {});
  EXPECT_EQ(arrays(plan), 3u) << to_text(plan);
}

TEST(Alias, NotIntoWiderElements) {
  const PlanData plan = make_plan(after_product([](Graph& g, ValueId y) { return convert(g, y, DType::f64); }), {});
  EXPECT_EQ(arrays(plan), 1u);  // the product; the output has twice the bytes
}

TEST(Alias, DonatedArgumentsBecomeOutputs) {
  Graph g;
  const ValueId p = g.add_input({{512, 512}, DType::f32}), d = g.add_input({{512, 512}, DType::f32});
  g.outputs = {g.add(Op::subtract, {p, d})};
  PlanOptions options;
  EXPECT_EQ(make_plan(g, options).peak_bytes, 3 * kBytes);
  options.donated = {true, false};
  const PlanData plan = make_plan(g, options);
  EXPECT_EQ(plan.peak_bytes, 2 * kBytes) << to_text(plan);
  EXPECT_EQ(plan.buffers[plan.outputs[0]].alias_of, plan.inputs[0]);
}

TEST(Alias, AScatterKeepsItsOperandWhereItLies) {
  Graph g;
  const ValueId a = g.add_input({{512, 512}, DType::f32}), idx = g.add_input({{10, 1}, DType::i32});
  const ValueId rows = g.add_input({{10, 512}, DType::f32});
  g.outputs = {g.add(Op::scatter_add, {matmul(g, a, a), idx, rows}, {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{0}}})};
  const PlanData plan = make_plan(g, {});
  EXPECT_EQ(arrays(plan), 1u) << to_text(plan);
  EXPECT_TRUE(plan.steps.back().operand_in_place);
}

// Each row of the result is made of the same row of the product and of nothing else of it.
TEST(Alias, AScatterOfAllRowsUpdatesWhatItReads) {
  const auto rows_of = [](ValueId (*place)(Graph&, ValueId order, ValueId other), Op op) {
    Graph g;
    const ValueId a = g.add_input({{512, 512}, DType::f32}), b = g.add_input({{512, 512}, DType::f32});
    const ValueId x = matmul(g, a, a);
    const auto order = [&](ValueId keys) {
      return reshape(g, g.add(Op::argsort, {keys}, {{Attr::axis, int64_t{0}}, {Attr::descending, int64_t{0}}}),
                     {512, 1});
    };
    const ValueId into = order(g.add_input({{512}, DType::f32})), other = order(g.add_input({{512}, DType::f32}));
    const tracing::Attrs by_rows{{Attr::axes, Ints{0}}, {Attr::mode, int64_t{0}}};
    const ValueId read = g.add(Op::gather, {x, place(g, into, other)}, by_rows);
    const ValueId less = g.add(Op::subtract, {g.add(Op::tanh, {read}), b});
    g.outputs = {g.add(op, {splat(g, 1, DType::f32, {512, 512}), into, less}, by_rows)};
    return make_plan(g, {});
  };
  const auto same = [](Graph&, ValueId order, ValueId) { return order; };
  for (const Op op : {Op::scatter_set, Op::scatter_add}) {
    const PlanData plan = rows_of(same, op);
    EXPECT_EQ(arrays(plan), 1u) << to_text(plan);
    EXPECT_FALSE(plan.steps.back().operand_in_place);
  }
  EXPECT_EQ(arrays(rows_of(same, Op::scatter_mul)), 2u) << "what was there is written before";
  EXPECT_EQ(arrays(rows_of([](Graph&, ValueId, ValueId other) { return other; }, Op::scatter_set)), 2u);
  const auto next = [](Graph& g, ValueId order, ValueId) {
    return g.add(Op::add, {order, splat(g, 1, DType::i32, {512, 1})});
  };
  EXPECT_EQ(arrays(rows_of(next, Op::scatter_set)), 2u);
}

TEST(Alias, CountsAreApartFromAnOperandThatLiesInTheOutput) {
  for (const int64_t rows : {70'000, 5'000'000}) {
    Graph g;
    const ValueId x = g.add_input({{1000}, DType::f32}), idx = g.add_input({{rows, 1}, DType::i32});
    const ValueId updates = broadcast(g, splat(g, 2.5, DType::f32, {}), {rows}, {});
    g.outputs = {g.add(Op::scatter_add, {x, idx, updates}, {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{0}}})};
    for (const bool donated : {false, true}) {
      PlanOptions options;
      options.donated = {donated, false};
      const PlanData plan = make_plan(g, options);
      const PlanStep& step = plan.steps[0];
      EXPECT_EQ(step.form, ScatterForm::counts);
      EXPECT_EQ(step.operand_in_place, donated);
      ASSERT_EQ(step.scratch.size(), 1u);
      EXPECT_EQ(plan.buffers[step.scratch[0]].aval.shape, (Shape{step.partials - (donated ? 0 : 1), 1000}));
    }
  }
}

TEST(Alias, ConcatenatedResultsLieWhereTheyBelong) {
  Graph g;
  const ValueId a = g.add_input({{512, 512}, DType::f32});
  const ValueId y = matmul(g, a, a), z = matmul(g, y, a);
  g.outputs = {g.add(Op::concatenate, {matmul(g, z, z), matmul(g, z, y)}, {{Attr::axis, int64_t{0}}})};
  const PlanData plan = make_plan(g, {});
  for (const PlanStep& step : plan.steps) EXPECT_EQ(step.kind, PlanStep::Kind::dot) << to_text(plan);
  size_t pieces = 0;
  for (const PlanBuffer& b : plan.buffers) {
    if (b.alias_of != plan.outputs[0]) continue;
    EXPECT_EQ(b.alias_offset % static_cast<int64_t>(kBytes), 0);
    ++pieces;
  }
  EXPECT_EQ(pieces, 2u);
}

// Random programs whose bytes are shared in every way that there is: no step reads what another has overwritten.
TEST(Alias, NothingIsReadAfterItWasOverwritten) {
  size_t joins = 0, in_place = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    conformance::JoinedProgram program(seed);
    program.make();
    for (const bool donates : {false, true}) {
      PlanOptions options;
      options.want_alternatives = false;
      options.target.carves = seed % 2 == 0;
      if (donates) options.donated = program.donated;
      const PlanData plan = make_plan(program.graph, options);
      const std::vector<std::string> faults = check_plan(plan);
      ASSERT_EQ(faults, std::vector<std::string>()) << "seed " << seed << '\n' << print(program.graph) << to_text(plan);
      for (const PlanBuffer& buffer : plan.buffers) joins += buffer.alias_of >= 0 && buffer.alias_offset > 0;
      for (const PlanStep& step : plan.steps) in_place += step.strategy == Strategy::inplace;
    }
  }
  EXPECT_GT(joins, 500u);
  EXPECT_GT(in_place, 500u);
}

}  // namespace
}  // namespace neap::planner
