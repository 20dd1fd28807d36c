// Every sort becomes the canonical one, with its scratch in the plan.
#include "planner/kernels/sort.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/error.h>

#include "graphs.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/plan.h"
#include "planner/rewrite/lower_sort.h"
#include "planner/rewrite/simplify.h"
#include "planner/search/make_plan.h"
#include "tests/count.h"

namespace neap::planner {
namespace {

using testing::HasSubstr;

ValueId sort(Graph& g, Op op, ValueId x, int64_t axis, int64_t descending = 0) {
  return g.add(op, {x}, {{Attr::axis, axis}, {Attr::descending, descending}});
}

TEST(Sort, OtherAxesAreMovedLast) {
  Graph g;
  g.outputs = {sort(g, Op::argsort, g.add_input({{5, 7, 3}, DType::f16}), 1, 1)};
  const Graph simple = simplify(g);
  EXPECT_EQ(count(simple, Op::transpose), 2) << print(simple);
  for (const tracing::Node& node : simple.nodes) {
    if (node.op != Op::argsort) continue;
    EXPECT_EQ(sort_form(simple, node), (SortForm{15, 7, DType::f16, true, true}));
  }
  EXPECT_EQ(simple.aval(simple.outputs[0]), (Aval{{5, 7, 3}, DType::i32}));
  EXPECT_EQ(simplify(simple), simple);
  g.outputs = {sort(g, Op::sort, g.inputs[0], 2)};
  EXPECT_EQ(count(simplify(g), Op::transpose), 0);
}

TEST(Sort, RowsOfOneElementNeedNone) {
  Graph g;
  const ValueId x = g.add_input({{5, 1}, DType::f32});
  g.outputs = {sort(g, Op::sort, x, 1), sort(g, Op::argsort, x, 1)};
  const Graph simple = simplify(g);
  EXPECT_EQ(count(simple, Op::sort) + count(simple, Op::argsort), 0) << print(simple);
  EXPECT_EQ(simple.outputs[0], simple.inputs[0]);
}

TEST(Sort, BothOfOneOperandSortOnce) {
  Graph g;
  const ValueId x = g.add_input({{4, 300}, DType::f32});
  const ValueId values = sort(g, Op::sort, x, 0), order = sort(g, Op::argsort, x, 0);
  g.outputs = {values, order, sort(g, Op::sort, x, 0, 1)};
  const Graph simple = simplify(g);
  EXPECT_EQ(count(simple, Op::argsort), 1) << print(simple);
  EXPECT_EQ(count(simple, Op::gather), 1) << print(simple);
  EXPECT_EQ(count(simple, Op::sort), 1) << "in the other order";
  EXPECT_EQ(simplify(simple), simple);
}

TEST(Sort, ScratchIsInThePlan) {
  for (const bool gpu : {false, true}) {
    for (const auto& [op, arrays] : {std::pair{Op::sort, 1}, {Op::argsort, 3}}) {
      Graph g;
      const int64_t n = 1 << 20;
      g.outputs = {sort(g, op, g.add_input({{n}, DType::f32}), 0)};
      PlanOptions options;
      options.target.gpu = gpu;
      const PlanData plan = make_plan(g, options);
      ASSERT_EQ(plan.steps.size(), 1u);
      EXPECT_EQ(plan.steps[0].kind, PlanStep::Kind::sort);
      EXPECT_EQ(plan.steps[0].strategy, Strategy::opaque);
      // Argument, result, and what lies between passes: elements, or keys twice and indices; and few counts.
      const auto least = static_cast<size_t>((2 + arrays) * 4 * n);
      EXPECT_GT(plan.peak_bytes, least);
      EXPECT_LT(plan.peak_bytes, least + least / 16);
    }
  }
}

TEST(Sort, FewRanksAreSelected) {
  const auto slice = [](Graph& g, ValueId v, int64_t axis, int64_t begin, int64_t end) {
    return append_slice(g, v, axis, begin, end);
  };
  const auto only_sort = [](const Graph& g) {
    const auto it = std::ranges::find_if(
        g.nodes, [](const tracing::Node& n) { return op_info(n.op).family == tracing::Family::sort; });
    return sort_form(g, *it);
  };
  Graph g;
  const ValueId x = g.add_input({{1000, 600}, DType::f32});
  const ValueId order = sort(g, Op::argsort, x, 0, 1);
  g.outputs = {slice(g, order, 0, 3, 5), slice(g, order, 0, 10, 21)};
  const Graph selected = select_ranks(simplify(g));
  verify(selected);
  EXPECT_EQ(only_sort(selected), (SortForm{600, 1000, DType::f32, true, true, 3, 21}));
  EXPECT_EQ(selected.aval(selected.outputs[1]), (Aval{{11, 600}, DType::i32}));
  EXPECT_EQ(simplify(selected), selected) << "it stays so";
  EXPECT_EQ(select_ranks(selected), selected);
  const auto written = [&](bool gpu) {
    PlanOptions options;
    options.target.gpu = gpu;
    size_t bytes = 0;
    for (const PlanStep& step : make_plan(g, options).steps) {
      if (step.kind == PlanStep::Kind::sort) bytes = step.group.aval(step.group.outputs[0]).bytes();
    }
    return bytes;
  };
  EXPECT_EQ(written(false), 600u * 18 * 4);
  EXPECT_EQ(written(true), 600u * 1000 * 4) << "a GPU sorts whole rows";

  const auto stays = [&](auto outputs) {
    Graph h;
    const ValueId sorted = sort(h, Op::sort, h.add_input({{4, 100}, DType::f32}), 1);
    h.outputs = outputs(h, sorted);
    const Graph simple = simplify(h);
    return select_ranks(simple) == simple;
  };
  using Values = std::vector<ValueId>;
  EXPECT_FALSE(stays([&](Graph& h, ValueId v) { return Values{slice(h, v, 1, 90, 100)}; }));
  EXPECT_TRUE(stays([&](Graph& h, ValueId v) { return Values{slice(h, v, 1, 0, 26)}; })) << "too many";
  EXPECT_TRUE(stays([&](Graph& h, ValueId v) { return Values{slice(h, v, 0, 0, 1)}; })) << "whole rows";
  EXPECT_TRUE(stays([&](Graph& h, ValueId v) { return Values{slice(h, v, 1, 0, 1), v}; })) << "and all of them";
  EXPECT_TRUE(stays([&](Graph& h, ValueId v) { return Values{slice(h, v, 1, 0, 1), h.add(Op::negative, {v}, {})}; }));
}

TEST(Sort, RefusesRowsThatAreTooLongForAGpu) {
  const auto plan = [](const Shape& shape, bool gpu) {
    Graph g;
    g.outputs = {sort(g, Op::sort, g.add_input({shape, DType::u8}), 1)};
    PlanOptions options;
    options.target.gpu = gpu;
    return make_plan(g, options);
  };
  const int64_t most = kSortTooLong - 1;
  EXPECT_EQ(plan({1, most}, true).steps.size(), 1u);
  EXPECT_EQ(plan({1, most + 1}, false).steps.size(), 1u);
  EXPECT_NO_THROW(plan({most + 1, 2}, true));
  try {
    plan({1, most + 1}, true);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("sort: rows of 2147483648 elements; expected fewer than 2^31 on a GPU; sort"));
    EXPECT_THAT(error.what(), HasSubstr("[sort_test.cpp:"));
  }
}

TEST(Sort, LayoutsByShape) {
  const auto layout = [](int64_t rows, int64_t length, DType t = DType::f32) {
    return sort_layout({rows, length, t, true, false});
  };
  EXPECT_TRUE(layout(1000, 20).merges);
  EXPECT_EQ(layout(1000, 20).slots, 16);
  EXPECT_EQ(layout(3, 20).slots, 3);
  EXPECT_FALSE(layout(3, 2000).merges);
  EXPECT_EQ(layout(3, 1 << 20).blocks, 16);
  EXPECT_EQ(layout(3, 1 << 20).slots, 1) << "the row itself is shared";
  EXPECT_EQ(layout(100, 100'000).blocks, 1);
  EXPECT_LE(static_cast<size_t>(layout(100, 100'000).slots) * layout(100, 100'000).slot_bytes, 40'000'000u);
  EXPECT_EQ(sort_passes({1, 1, DType::bool_}), 1);
  EXPECT_EQ(sort_passes({1, 1, DType::f64}), 8);
  EXPECT_LE(((int64_t{1} << 31) - 1) / sort_block({1, (int64_t{1} << 31) - 1}), 65536);
}

}  // namespace
}  // namespace neap::planner
