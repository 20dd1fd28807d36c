// Indices that follow from their place alone, and those that do not, or are not known to name an element.
#include "planner/kernels/counted_indices.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"

namespace neap::planner {
namespace {

using tracing::IndexMode;

constexpr int64_t kRows = 200, kColumns = 1000;

ValueId iota(Graph& g, int64_t n, DType dtype = DType::i32) {
  return g.add(Op::iota, {}, {{Attr::dtype, dtype}, {Attr::shape, Shape{n}}, {Attr::axis, int64_t{0}}});
}
ValueId number(Graph& g, int64_t value, const Shape& shape, DType dtype = DType::i32) {
  return g.add(Op::constant, {}, {{Attr::dtype, dtype}, {Attr::shape, shape}, {Attr::value, value}});
}
// Rows of an array [columns, rows] at the indices [n].
ValueId rows_at(Graph& g, ValueId x, ValueId index) {
  const int64_t n = g.aval(index).shape[0];
  return g.add(Op::gather, {x, reshape(g, index, {n, 1})},
               {{Attr::axes, Ints{0}}, {Attr::mode, static_cast<int64_t>(IndexMode::clip)}});
}
ValueId clipped(Graph& g, ValueId index, int64_t lo, int64_t hi) {
  const Shape shape = g.aval(index).shape;
  return g.add(Op::minimum, {g.add(Op::maximum, {index, number(g, lo, shape)}), number(g, hi, shape)});
}

// Whether the index that `make` makes of a graph's first input is counted.
template <class Make>
bool is_counted(const Make& make, bool read_elsewhere = false) {
  Graph g;
  const ValueId x = g.add_input({{kColumns, kRows}, DType::f32});
  const ValueId index = make(g);
  g.outputs = {rows_at(g, x, index)};
  if (read_elsewhere) g.outputs.push_back(g.add(Op::negative, {index}));
  return counted_indices(g)[index];
}

TEST(CountedIndices, AreArithmeticOfPlacesThatExist) {
  constexpr int64_t n = kColumns + 10;
  const auto shifted = [](Graph& g) { return g.add(Op::subtract, {iota(g, n), number(g, 5, {n})}); };
  EXPECT_TRUE(is_counted([&](Graph& g) { return clipped(g, shifted(g), 0, kColumns - 1); }));
  EXPECT_FALSE(is_counted([&](Graph& g) { return clipped(g, shifted(g), 0, kColumns - 1); }, true)) << "a value, too";
  EXPECT_FALSE(is_counted(shifted)) << "before the first";
  EXPECT_FALSE(is_counted([&](Graph& g) { return clipped(g, shifted(g), 0, kColumns); })) << "behind the last";
  EXPECT_TRUE(is_counted([](Graph& g) { return g.add(Op::multiply, {iota(g, 100), number(g, 9, {100})}); }));
  EXPECT_FALSE(is_counted([](Graph& g) { return g.add(Op::multiply, {iota(g, 30), iota(g, 30)}); })) << "no multiple";
  EXPECT_FALSE(is_counted([](Graph& g) { return convert(g, iota(g, 300), DType::i8); })) << "wraps";
  EXPECT_FALSE(is_counted([](Graph& g) {
    return g.add(Op::subtract, {iota(g, 9, DType::u32), number(g, 1, {9}, DType::u32)});
  })) << "wraps below 0";
  EXPECT_FALSE(is_counted([](Graph& g) { return g.add_input({{9}, DType::i32}); }));
  EXPECT_FALSE(is_counted([](Graph& g) {
    return g.add(Op::add, {iota(g, 9, DType::i64), number(g, std::numeric_limits<int64_t>::max(), {9}, DType::i64)});
  })) << "far away";
}

TEST(CountedIndices, AreNotStored) {
  Graph g;
  const ValueId x = g.add_input({{kColumns, kRows}, DType::f32});
  constexpr int64_t n = kColumns + 10;
  const ValueId index = g.add(Op::subtract, {iota(g, n), number(g, 5, {n})});
  g.outputs = {
      g.add(Op::transpose, {rows_at(g, x, clipped(g, index, 0, kColumns - 1))}, {{Attr::permutation, Ints{1, 0}}})};
  const PlanData plan = make_plan(g, {});
  EXPECT_EQ(plan.steps.size(), 1u) << to_text(plan);
}

}  // namespace
}  // namespace neap::planner
