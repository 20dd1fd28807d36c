// Rows that are told apart are apart: random index arrays, evaluated, against what their graph says of them.
#include "planner/kernels/unique_indices.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "core/buffer.h"
#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/search/make_plan.h"
#include "trace/reference/reference.h"

namespace neap::planner {
namespace {

using tracing::IndexMode;

ValueId iota(Graph& g, Shape shape, int64_t axis, DType dtype = DType::i32) {
  return g.add(Op::iota, {}, {{Attr::dtype, dtype}, {Attr::shape, std::move(shape)}, {Attr::axis, axis}});
}
ValueId argsort(Graph& g, ValueId x, int64_t axis) {
  return g.add(Op::argsort, {x}, {{Attr::axis, axis}, {Attr::descending, int64_t{0}}});
}
ValueId join(Graph& g, std::vector<ValueId> columns) {
  const int64_t last = g.aval(columns[0]).ndim() - 1;
  return g.add(Op::concatenate, std::move(columns), {{Attr::axis, last}});
}

/// Of a scatter-add of scalars into zeros of shape `operand` along all of its axes.
ScatterRows rows_of(Graph& g, ValueId indices, const Shape& operand, IndexMode mode = IndexMode::fill_or_drop) {
  Ints axes;
  for (int64_t d = 0; d < std::ssize(operand); ++d) axes.push_back(d);
  Shape batch = g.aval(indices).shape;
  batch.pop_back();
  const ValueId out =
      g.add(Op::scatter_add, {splat(g, 0, DType::f32, operand), indices, splat(g, 1, DType::f32, batch)},
            {{Attr::axes, axes}, {Attr::mode, static_cast<int64_t>(mode)}});
  g.outputs = {out};
  return scatter_rows(g, *g.def(out));
}

TEST(Distinct, Permutations) {
  Graph g;
  const ValueId x = g.add_input({{9}, DType::f32});
  const ValueId order = reshape(g, argsort(g, x, 0), {9, 1});
  const auto of = [&](ValueId v, int64_t extent, IndexMode mode = IndexMode::fill_or_drop) {
    const ScatterRows rows = rows_of(g, v, {extent}, mode);
    return std::pair(rows.unique_indices, rows.covering);
  };
  EXPECT_EQ(of(order, 9), std::pair(true, true));
  EXPECT_EQ(of(order, 12), std::pair(true, false));
  EXPECT_EQ(of(order, 7), std::pair(true, false)) << "the rest is dropped";
  EXPECT_EQ(of(order, 7, IndexMode::clamp_update), std::pair(false, false)) << "the rest is clamped";
  EXPECT_EQ(of(convert(g, order, DType::i16), 9), std::pair(true, true));
  const ValueId long_iota = iota(g, {300, 1}, 0, DType::i32);
  EXPECT_EQ(of(long_iota, 300), std::pair(true, true));
  EXPECT_EQ(of(convert(g, long_iota, DType::i8), 300), std::pair(false, false)) << "wraps";
  EXPECT_EQ(of(g.add_input({{9, 1}, DType::i32}), 9), std::pair(false, false));
  EXPECT_EQ(of(g.add_input({{1, 1}, DType::i32}), 9), std::pair(true, false)) << "one row";
  EXPECT_EQ(of(broadcast(g, order, {9, 4, 1}, {0, 2}), 9), std::pair(false, false)) << "each four times";
  const ValueId shifted = g.add(Op::subtract, {order, splat(g, 3, DType::i32, {9, 1})});
  EXPECT_EQ(of(shifted, 9), std::pair(false, false)) << "-1 is 8";
}

// What is stored at a permutation is a permutation where all of it differs.
TEST(Distinct, InversesOfPermutations) {
  Graph g;
  const ValueId order = reshape(g, argsort(g, g.add_input({{9}, DType::f32}), 0), {9, 1});
  const auto stored = [&](ValueId indices, ValueId updates, int64_t extent) {
    return reshape(g,
                   g.add(Op::scatter_set, {splat(g, 0, DType::i32, {extent}), indices, updates},
                         {{Attr::axes, Ints{0}}, {Attr::mode, static_cast<int64_t>(IndexMode::fill_or_drop)}}),
                   {extent, 1});
  };
  const ValueId inverse = stored(order, iota(g, {9}, 0), 9);
  EXPECT_TRUE(rows_of(g, inverse, {9}).covering);
  EXPECT_TRUE(rows_of(g, stored(inverse, reshape(g, order, {9}), 9), {9}).covering) << "of an inverse";
  EXPECT_FALSE(rows_of(g, stored(order, iota(g, {9}, 0), 10), {10}).unique_indices) << "one is 0, as another may be";
  EXPECT_FALSE(rows_of(g, stored(order, splat(g, 3, DType::i32, {9}), 9), {9}).unique_indices) << "all are 3";
  EXPECT_FALSE(rows_of(g, stored(g.add_input({{9, 1}, DType::i32}), iota(g, {9}, 0), 9), {9}).unique_indices);
}

TEST(Distinct, ColumnsTogether) {
  Graph g;
  const ValueId x = g.add_input({{4, 3, 5}, DType::f32});
  const ValueId order = reshape(g, argsort(g, x, 2), {12, 5, 1});
  const ValueId row = iota(g, {12, 5, 1}, 0);
  EXPECT_TRUE(rows_of(g, join(g, {row, order}), {12, 5}).covering);
  EXPECT_TRUE(rows_of(g, join(g, {order, row}), {5, 12}).covering);
  EXPECT_FALSE(rows_of(g, order, {5}).unique_indices) << "each row its own order";
  EXPECT_FALSE(rows_of(g, join(g, {iota(g, {12, 5, 1}, 1), order}), {5, 5}).unique_indices);
  const ValueId whole = reshape(g, argsort(g, x, 2), {4, 3, 5, 1});
  const ValueId first = iota(g, {4, 3, 5, 1}, 0), second = iota(g, {4, 3, 5, 1}, 1);
  EXPECT_TRUE(rows_of(g, join(g, {first, second, whole}), {4, 3, 5}).covering);
  EXPECT_FALSE(rows_of(g, join(g, {first, whole}), {4, 5}).unique_indices);
  EXPECT_TRUE(rows_of(g, reshape(g, join(g, {first, second, whole}), {60, 3}), {4, 3, 5}).covering);
  EXPECT_FALSE(rows_of(g, reshape(g, order, {60, 1}), {5}).unique_indices);
}

// Random index arrays of iotas, permutations and inputs.
class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}
  Graph g;

  ValueId leaf(const Shape& shape) {
    const int64_t axis = below(std::ssize(shape));
    const DType dtype = below(4) == 0 ? DType::u8 : DType::i32;
    switch (below(4)) {
      case 0: return g.add_input({shape, DType::i32});
      case 1: return argsort(g, g.add_input({shape, DType::f32}), axis);
      default: return iota(g, shape, axis, dtype);
    }
  }

  ValueId value(const Shape& shape, int depth) {
    if (depth == 0) return leaf(shape);
    const auto rank = std::ssize(shape);
    switch (below(rank == 1 ? 8 : 7)) {
      case 0: {  // a reshape, of a merge or a split
        Shape from = shape;
        const int64_t d = below(rank);
        if (d + 1 < rank && below(2) == 0) {
          from[d] *= from[d + 1];
          from.erase(from.begin() + d + 1);
        } else if (shape[d] % 2 == 0) {
          from[d] /= 2;
          from.insert(from.begin() + d, 2);
        } else {
          from.insert(from.begin() + below(rank + 1), 1);
        }
        return reshape(g, value(from, depth - 1), shape);
      }
      case 1: {
        Ints permutation(rank);
        for (int64_t d = 0; d < rank; ++d) permutation[d] = d;
        std::ranges::shuffle(permutation, random_);
        Shape from(rank);
        for (int64_t d = 0; d < rank; ++d) from[permutation[d]] = shape[d];
        return g.add(Op::transpose, {value(from, depth - 1)}, {{Attr::permutation, permutation}});
      }
      case 2: {
        Shape from;
        Ints axes;
        for (int64_t d = 0; d < rank; ++d) {
          if (below(3) == 0) continue;
          from.push_back(below(4) == 0 ? 1 : shape[d]);
          axes.push_back(d);
        }
        if (from.empty()) return leaf(shape);
        return broadcast(g, value(from, depth - 1), shape, axes);
      }
      case 3: {
        Ints start(rank), limit(rank), stride(rank);
        Shape from = shape;
        for (int64_t d = 0; d < rank; ++d) {
          stride[d] = 1 + below(2);
          start[d] = below(2);
          limit[d] = start[d] + (shape[d] - 1) * stride[d] + 1;
          from[d] = limit[d] + below(2);
        }
        return g.add(Op::slice, {value(from, depth - 1)},
                     {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, stride}});
      }
      case 4: return g.add(Op::reverse, {value(shape, depth - 1)}, {{Attr::axes, Ints{below(rank)}}});
      case 5: return convert(g, value(shape, depth - 1), below(2) ? DType::i64 : DType::i8);
      case 7: {  // what is stored at places
        const int64_t n = shape[0], rows = below(4) ? n : 1 + below(n);
        const ValueId into = splat(g, static_cast<double>(below(3)), DType::i32, {n});
        return g.add(
            Op::scatter_set,
            {into, convert(g, value({rows, 1}, depth - 1), DType::i32),
             convert(g, value({rows}, depth - 1), DType::i32)},
            {{Attr::axes, Ints{0}},
             {Attr::mode, static_cast<int64_t>(below(2) ? IndexMode::fill_or_drop : IndexMode::clamp_update)}});
      }
      default: {
        const int64_t columns = shape.back();
        if (columns < 2) return leaf(shape);
        Shape first = shape, second = shape;
        first.back() = 1 + below(columns - 1);
        second.back() = columns - first.back();
        return join(
            g, {convert(g, value(first, depth - 1), DType::i32), convert(g, value(second, depth - 1), DType::i32)});
      }
    }
  }

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
};

TEST(Distinct, NeverWrong) {
  int distinct = 0, covering = 0;
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    Maker m(seed);
    const int64_t columns = 1 + m.below(3);
    Shape shape{1 + m.below(4)};
    if (m.below(2)) shape.push_back(1 + m.below(4));
    shape.push_back(columns);
    const bool by_columns = m.below(2) == 0;
    std::vector<ValueId> parts;
    Shape column = shape;
    column.back() = 1;
    for (int64_t c = 0; by_columns && c < columns; ++c) parts.push_back(convert(m.g, m.value(column, 3), DType::i32));
    const ValueId indices = by_columns && columns > 1 ? join(m.g, parts) : by_columns ? parts[0] : m.value(shape, 4);
    Shape operand;
    for (int64_t c = 0; c < columns; ++c)
      operand.push_back(m.below(2) ? shape[m.below(std::ssize(shape))] : 1 + m.below(6));
    const auto mode = static_cast<IndexMode>(m.below(4));
    if (mode == IndexMode::promise_in_bounds) continue;
    const ScatterRows rows = rows_of(m.g, indices, operand, mode);
    distinct += rows.unique_indices;
    covering += rows.covering;
    if (!rows.unique_indices) continue;

    std::vector<tracing::HostValue> inputs;
    for (const ValueId v : m.g.inputs) {
      const Aval& aval = m.g.aval(v);
      inputs.push_back({aval, allocate(aval.bytes(), "test")});
      for (int64_t i = 0; i < aval.size(); ++i) {
        const int64_t x = m.below(8) - 2;
        if (aval.dtype == DType::f32) inputs.back().data->as<float>()[i] = static_cast<float>(x);
        if (aval.dtype == DType::i32) inputs.back().data->as<int32_t>()[i] = static_cast<int32_t>(x);
      }
    }
    const tracing::HostValue counts = evaluate_reference(m.g, inputs)[0];
    for (int64_t i = 0; i < counts.aval.size(); ++i) {
      const float count = counts.data->as<float>()[i];
      EXPECT_LE(count, 1) << "seed " << seed << '\n' << print(m.g);
      if (rows.covering) EXPECT_EQ(count, 1) << "seed " << seed << '\n' << print(m.g);
    }
  }
  EXPECT_GT(distinct, 500);
  EXPECT_GT(covering, 50);
}

TEST(Distinct, SuchAScatterNeedsNoScratch) {
  for (const bool gpu : {false, true}) {
    for (const Op op : {Op::scatter_add, Op::scatter_set}) {
      Graph g;
      const int64_t n = 1 << 18;
      const ValueId x = g.add_input({{n}, DType::f32}), y = g.add_input({{n}, DType::f32});
      const ValueId order = reshape(g, argsort(g, x, 0), {n, 1});
      g.outputs = {g.add(op, {splat(g, 0, DType::f32, {n}), order, y}, {{Attr::axes, Ints{0}}, {Attr::mode, 1}})};
      PlanOptions options;
      options.target.gpu = gpu;
      options.target.deterministic = gpu;
      const PlanData plan = make_plan(g, options);
      const PlanStep& step = plan.steps.back();
      ASSERT_EQ(step.kind, PlanStep::Kind::scatter);
      EXPECT_TRUE(step.unique_indices && step.covering && !step.in_order);
      EXPECT_TRUE(step.scratch.empty());
      EXPECT_EQ(step.bytes_live, static_cast<size_t>(n) * 16) << "argument, cotangent, permutation, output";
    }
  }
}

}  // namespace
}  // namespace neap::planner
