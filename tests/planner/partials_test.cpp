// Partial results by shape and budget.
#include "planner/kernels/partials.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace neap::planner {
namespace {

constexpr size_t kBudget = size_t{32} << 20;

PlanStep step_of(PlanStep::Kind kind, Graph g) {
  PlanStep step;
  step.kind = kind;
  step.group = std::move(g);
  return step;
}

int reduce_partials(Shape shape, Ints axes, Op op = Op::reduce_sum) {
  Graph g;
  const ValueId x = g.add_input({std::move(shape), DType::f32});
  const Attrs attrs = op == Op::argmax ? Attrs{{Attr::axis, axes[0]}} : Attrs{{Attr::axes, axes}};
  g.outputs = {g.add(op, {x}, attrs)};
  PlanStep step = step_of(PlanStep::Kind::reduce, std::move(g));
  choose_partials(step, kBudget);
  const std::vector<Aval> scratch = scratch_of(step);
  EXPECT_EQ(scratch.size(), step.partials > 1 ? 1u : 0u);
  if (step.partials > 1) EXPECT_EQ(scratch[0].dtype, op == Op::reduce_sum ? DType::f64 : DType::f32);
  return step.partials;
}

TEST(Parts, ReductionsByShape) {
  EXPECT_EQ(reduce_partials({1000}, {0}), 1);
  EXPECT_EQ(reduce_partials({1 << 20}, {0}), 16);
  EXPECT_EQ(reduce_partials({int64_t{1} << 33}, {0}), 64);
  EXPECT_EQ(reduce_partials({1000, 1 << 20}, {1}), 1) << "rows enough for all threads";
  EXPECT_EQ(reduce_partials({3, 1 << 20}, {1}), 16);
  EXPECT_EQ(reduce_partials({1 << 20}, {0}, Op::reduce_max), 16);
  EXPECT_EQ(reduce_partials({1 << 20}, {0}, Op::argmax), 1);
  EXPECT_EQ(reduce_partials({0, 5}, {0}), 1);
}

// A thread takes many columns at once: a few hundred are too few for all threads.
TEST(Parts, OfColumnsByElements) {
  EXPECT_EQ(reduce_partials({1 << 20, 63}, {0}), 64);
  EXPECT_EQ(reduce_partials({20000, 50}, {0}), 15);
  EXPECT_EQ(reduce_partials({1 << 17, 1}, {0}), 2) << "as of rows";
  EXPECT_EQ(reduce_partials({1 << 20, 64}, {0}), 64);
  EXPECT_EQ(reduce_partials({1 << 14, 64}, {0}), 16);
  EXPECT_EQ(reduce_partials({1 << 14, 64}, {0}, Op::reduce_max), 16);
  EXPECT_EQ(reduce_partials({32, 28, 28, 64}, {0, 1, 2}), 24) << "the mean of a channel";
  EXPECT_EQ(reduce_partials({200, 511}, {0}), 1);
  EXPECT_EQ(reduce_partials({1024, 511}, {0}), 7) << "64 rows each, 65,536 elements";
  EXPECT_EQ(reduce_partials({1 << 20, 512}, {0}), 1) << "columns enough";
  EXPECT_EQ(reduce_partials({64, 1 << 20}, {1}), 1) << "rows";
  Target gpu;
  gpu.gpu = true;
  Graph g;
  const ValueId x = g.add_input({{1 << 20, 64}, DType::f32});
  g.outputs = {g.add(Op::reduce_sum, {x}, {{Attr::axes, Ints{0}}})};
  PlanStep step = step_of(PlanStep::Kind::reduce, std::move(g));
  choose_partials(step, kBudget, gpu);
  EXPECT_EQ(step.partials, 1);
  Graph wide;
  const ValueId y = wide.add_input({{1 << 20, 64}, DType::f64});
  wide.outputs = {wide.add(Op::reduce_sum, {y}, {{Attr::axes, Ints{0}}})};
  step = step_of(PlanStep::Kind::reduce, std::move(wide));
  choose_partials(step, kBudget);
  EXPECT_EQ(step.partials, 1) << "slices of f64 have the bits of the whole";
}

PlanStep scatter(Op op, Shape table, int64_t rows, DType dtype, bool constant, size_t budget = kBudget,
                 const Target& target = {}) {
  Graph g;
  const ValueId operand = splat(g, 0, dtype, table);
  const ValueId idx = g.add_input({{rows, 1}, DType::i32});
  Shape shape{rows};
  shape.insert(shape.end(), table.begin() + 1, table.end());
  const ValueId updates = constant ? splat(g, 2, dtype, shape) : g.add_input({shape, dtype});
  g.outputs = {g.add(op, {operand, idx, updates}, {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{0}}})};
  PlanStep step = step_of(PlanStep::Kind::scatter, std::move(g));
  choose_partials(step, budget, target);
  return step;
}

TEST(Parts, ScatterForms) {
  const auto big = int64_t{1} << 23;
  const PlanStep counts = scatter(Op::scatter_add, {1 << 20}, big, DType::f32, true);
  EXPECT_EQ(counts.form, ScatterForm::counts);
  EXPECT_EQ(counts.partials, 4);
  EXPECT_EQ(scratch_of(counts)[0], (Aval{{3, 1 << 20}, DType::u32}));  // the first lies in the output

  const PlanStep sums = scatter(Op::scatter_add, {1 << 20}, big, DType::f32, false);
  EXPECT_EQ(sums.form, ScatterForm::tables);
  EXPECT_EQ(sums.partials, 2);
  EXPECT_EQ(scratch_of(sums)[0], (Aval{{2, 1 << 20}, DType::f64}));

  const PlanStep integers = scatter(Op::scatter_add, {1 << 20}, big, DType::i32, false);
  EXPECT_EQ(integers.form, ScatterForm::tables);
  EXPECT_EQ(scratch_of(integers)[0], (Aval{{3, 1 << 20}, DType::i32}));

  EXPECT_EQ(scatter(Op::scatter_max, {1 << 20}, big, DType::f32, false).form, ScatterForm::direct);
  EXPECT_EQ(scatter(Op::scatter_add, {1 << 20}, 1000, DType::f32, true).form, ScatterForm::direct);
  EXPECT_EQ(scatter(Op::scatter_add, {1 << 20}, 1 << 20, DType::f32, true).partials, 2);
}

TEST(Parts, ThreadsOfAGpuShareATableUnlessItSaysOtherwise) {
  Target gpu;
  gpu.gpu = true;
  const auto partials = [&](int64_t rows, bool constant, size_t budget = kBudget) {
    return scatter(Op::scatter_add, {1 << 20}, rows, DType::f32, constant, budget, gpu).partials;
  };
  EXPECT_EQ(partials(1 << 22, true), 1);
  gpu.count_tables = 3;
  EXPECT_EQ(partials(1 << 22, true), 3);
  EXPECT_EQ(partials(1 << 22, true, 5 << 20), 2) << "the first lies in the output";
  EXPECT_EQ(partials((1 << 20) - 1, true), 1) << "fewer rows than elements";
  EXPECT_EQ(partials(1 << 22, false), 1) << "sums";
}

TEST(Parts, TablesStayInTheirBudget) {
  const auto big = int64_t{1} << 23;
  for (const size_t budget : {size_t{64} << 20, kBudget, size_t{9} << 20, size_t{4} << 20, size_t{0}}) {
    for (const bool constant : {false, true}) {
      const PlanStep step = scatter(Op::scatter_add, {1 << 20}, big, DType::f32, constant, budget);
      size_t bytes = 0;
      for (const Aval& aval : scratch_of(step)) bytes += aval.bytes();
      EXPECT_LE(bytes, budget);
    }
  }
  EXPECT_EQ(scatter(Op::scatter_add, {1 << 20}, big, DType::f32, false, 0).form, ScatterForm::direct);
}

TEST(Parts, CountsNeverOverflow) {
  const PlanStep step = scatter(Op::scatter_add, {1 << 20}, int64_t{1} << 34, DType::f32, true);
  EXPECT_TRUE(step.form == ScatterForm::direct || (int64_t{1} << 34) / step.partials < (int64_t{1} << 32));
}

}  // namespace
}  // namespace neap::planner
