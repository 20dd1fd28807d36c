// Gather and scatter: every index dtype and mode, indices far outside, repeated indices.
#include "tests/conformance/harness.h"

namespace neap::conformance {
namespace {

using tracing::IndexMode;

constexpr DType kIndexDTypes[] = {i8, i16, i32, i64, u8, u16, u32, u64};
constexpr IndexMode kModes[] = {IndexMode::clip, IndexMode::fill_or_drop, IndexMode::promise_in_bounds};

struct Indexed {
  Shape operand, rows;
  Ints axes;
};
const Indexed kCases[] = {{{10}, {50}, {0}},        {{10}, {}, {0}},
                          {{10}, {0}, {0}},         {{4, 5}, {33}, {0}},
                          {{4, 5}, {33}, {1}},      {{4, 5}, {33}, {0, 1}},
                          {{4, 5}, {3}, {}},        {{4, 5, 6}, {7}, {0, 2}},
                          {{4, 5, 6}, {2, 3}, {1}}, {{4, 5, 6}, {70}, {0, 1, 2}},
                          {{3, 17}, {2, 9}, {0}},   {{4, 0}, {5}, {0}}};

Attrs attrs_of(const Indexed& c, IndexMode mode) {
  return {{Attr::axes, c.axes}, {Attr::mode, static_cast<int64_t>(mode)}};
}

Shape index_shape(const Indexed& c) {
  Shape shape = c.rows;
  shape.push_back(static_cast<int64_t>(c.axes.size()));
  return shape;
}

Shape slices_shape(const Indexed& c) {
  Shape shape = c.rows;
  for (int64_t axis = 0; axis < static_cast<int64_t>(c.operand.size()); ++axis)
    if (std::ranges::find(c.axes, axis) == c.axes.end()) shape.push_back(c.operand[axis]);
  return shape;
}

// Around the operand's extents, and at times as far off as the dtype allows; in bounds when that is promised.
ValueId indices(Sheet& s, const Indexed& c, DType t, IndexMode mode) {
  const bool promised = mode == IndexMode::promise_in_bounds;
  const size_t columns = c.axes.size();
  return s.input(make_array({index_shape(c), t}, [&](std::byte* to) {
    dispatch(t, [&]<class T>() {
      if constexpr (std::is_integral_v<T>) {
        for (int64_t i = 0; columns && i < element_count(c.rows) * static_cast<int64_t>(columns); ++i) {
          const int64_t n = c.operand[c.axes[i % columns]];
          const int64_t low = is_unsigned(t) ? 0 : promised ? -n : -2 * n - 2, high = promised ? n - 1 : 2 * n + 2;
          T index = static_cast<T>(low + static_cast<int64_t>(s.random() % static_cast<uint64_t>(high - low + 1)));
          if (!promised && s.random() % 16 == 0) index = std::numeric_limits<T>::max();
          if (!promised && s.random() % 16 == 0) index = std::numeric_limits<T>::min();
          reinterpret_cast<T*>(to)[i] = index;
        }
      }
    });
  }));
}

std::string label(Op op, DType t, const Indexed& c, IndexMode mode) {
  return fmt::format("{} {}{} rows {} axes {} mode {}", tracing::name(op), name(t), to_string(c.operand),
                     to_string(c.rows), to_string(c.axes), static_cast<int>(mode));
}

class Indices : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(IndexDType, Indices, testing::ValuesIn(kIndexDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Indices, Gather) {
  Sheet s(static_cast<uint64_t>(GetParam()) + 1);
  for (const Indexed& c : kCases) {
    for (const IndexMode mode : kModes)
      s.check(label(Op::gather, f32, c, mode), Op::gather, {s.input(c.operand, f32), indices(s, c, GetParam(), mode)},
              attrs_of(c, mode));
  }
  s.run();
}

TEST_P(Indices, ScatterAdd) {
  Sheet s(static_cast<uint64_t>(GetParam()) + 2);
  for (const Indexed& c : kCases) {
    for (const IndexMode mode : kModes)
      s.check(label(Op::scatter_add, f32, c, mode), Op::scatter_add,
              {s.input(c.operand, f32, Fill::tame), indices(s, c, GetParam(), mode),
               s.input(slices_shape(c), f32, Fill::tame)},
              attrs_of(c, mode));
  }
  s.run();
}

class Operands : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DType, Operands, testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Operands, GatherAndEveryScatter) {
  const DType t = GetParam();
  Sheet s(static_cast<uint64_t>(t) + 3);
  for (const Indexed& c : {kCases[0], kCases[4], kCases[5], kCases[7]}) {
    for (const Op op :
         {Op::gather, Op::scatter_set, Op::scatter_add, Op::scatter_mul, Op::scatter_min, Op::scatter_max}) {
      if (t == bool_ && op != Op::gather && op != Op::scatter_set) continue;
      const IndexMode mode = op == Op::gather ? IndexMode::fill_or_drop : IndexMode::clip;
      const Fill fill = !is_float(t) || op == Op::gather || op == Op::scatter_set ? Fill::wild
                        : op == Op::scatter_mul                                   ? Fill::units
                                                                                  : Fill::tame;
      std::vector<ValueId> operands{s.input(c.operand, t, fill), indices(s, c, i32, mode)};
      if (op != Op::gather) operands.push_back(s.input(slices_shape(c), t, fill));
      s.check(label(op, t, c, mode), op, operands, attrs_of(c, mode));
    }
  }
  s.run();
}

// As many rows as make the planner keep several partial tables.
TEST(Scatter, ManyRows) {
  Sheet s(11);
  for (const Indexed& c :
       {Indexed{{16, 16, 16}, {200'000}, {0, 1, 2}}, Indexed{{64}, {300'000}, {0}}, Indexed{{50, 8}, {20'000}, {0}}}) {
    for (const DType t : {f32, i32, bf16, f64}) {
      for (const Op op : {Op::scatter_add, Op::scatter_max, Op::scatter_set}) {
        // Small enough that the sum of all rows is exact in f32.
        const ValueId updates = s.integers(slices_shape(c), t, -4, 4);
        s.check(label(op, t, c, IndexMode::clip), op,
                {s.integers(c.operand, t, -4, 4), indices(s, c, i32, IndexMode::clip), updates},
                attrs_of(c, IndexMode::clip));
      }
    }
  }
  s.run();
}

// The founding case: the cotangent is one number, for each row.
TEST(Scatter, OfOneConstant) {
  Sheet s(12);
  Graph& g = s.graph;
  const Indexed c{{12, 13, 14}, {100'000}, {0, 1, 2}};
  for (const DType index : {i16, i32, i64}) {
    s.output("scatter_add of 2.5",
             g.add(Op::scatter_add,
                   {g.constant(0, f32, c.operand), indices(s, c, index, IndexMode::clip), g.constant(2.5, f32, c.rows)},
                   attrs_of(c, IndexMode::clip)));
    s.output("scatter_add of a scalar",
             g.add(Op::scatter_add,
                   {s.input(c.operand, f32, Fill::tame), indices(s, c, index, IndexMode::clip),
                    g.add(Op::broadcast_in_dim, {s.input({}, f32, Fill::tame)},
                          {{Attr::shape, c.rows}, {Attr::axes, Ints{}}})},
                   attrs_of(c, IndexMode::clip)));
  }
  s.run();
}

// Indices split in columns and joined again, converted and negated on the way.
TEST(Gather, OfComputedIndices) {
  Sheet s(13);
  Graph& g = s.graph;
  const Indexed c{{12, 13, 14}, {5000}, {0, 1, 2}};
  const ValueId x = s.input(c.operand, f32), rows = indices(s, c, i16, IndexMode::clip);
  std::vector<ValueId> columns;
  for (int64_t j = 0; j < 3; ++j)
    columns.push_back(
        g.add(Op::convert,
              {g.add(Op::slice, {rows},
                     {{Attr::start, Ints{0, j}}, {Attr::limit, Ints{5000, j + 1}}, {Attr::stride, Ints{1, 1}}})},
              {{Attr::dtype, i32}}));
  const ValueId joined = g.add(Op::concatenate, columns, {{Attr::axis, 1}});
  const ValueId read = g.add(Op::gather, {x, joined}, attrs_of(c, IndexMode::clip));
  s.output("gather", read);
  s.output("sum", g.add(Op::reduce_sum,
                        {g.add(Op::scatter_add, {g.constant(0, f32, c.operand), joined, g.constant(1, f32, {5000})},
                               attrs_of(c, IndexMode::fill_or_drop))},
                        {{Attr::axes, Ints{0, 1, 2}}}));
  s.output("twice as far",
           g.add(Op::gather, {x, g.add(Op::add, {joined, joined})}, attrs_of(c, IndexMode::fill_or_drop)));
  s.run();
}

// One element of each row of a constant, as the gradient of take_along_axis is: elementwise to the planner. The indices
// have a column for each of `axes`: a number, that of an axis of the rows along which it counts, kFree or kNought.
constexpr int64_t kFree = -1, kNought = -2;
struct OneEach {
  Shape operand, rows;
  Ints axes, columns;
};
const OneEach kOneEach[] = {
    {{10}, {}, {0}, {kFree}},
    {{10}, {1, 1}, {0}, {kFree}},
    {{4, 5}, {}, {1}, {kFree}},
    {{4, 5}, {4, 1}, {0, 1}, {0, kFree}},
    {{5, 4}, {1, 4}, {0, 1}, {kFree, 1}},
    {{4, 3, 200}, {4, 3}, {0, 1, 2}, {0, 1, kFree}},
    {{4, 3, 5}, {3, 4}, {0, 1, 2}, {1, 0, kFree}},
    {{3, 4, 5, 2}, {2, 3}, {0, 1, 3}, {1, kFree, 0}},
    {{4, 1, 5}, {4, 1}, {0, 1, 2}, {0, kNought, kFree}},
    {{4, 5, 6}, {5, 1}, {1, 2}, {0, kFree}},
    {{4, 1}, {4}, {0, 1}, {0, kFree}},
    // Several updates of a row, rows without one, a diagonal: scatters.
    {{4, 5}, {4, 2}, {0, 1}, {0, kFree}},
    {{4, 5}, {3, 1}, {0, 1}, {0, kFree}},
    {{4, 4, 5}, {4}, {0, 1, 2}, {0, 0, kFree}},
    {{4, 4, 5}, {4}, {0, 1}, {0, kFree}},
};

ValueId columns_of(Sheet& s, const OneEach& c, DType t, IndexMode mode) {
  Shape shape = c.rows;
  shape.push_back(1);
  std::vector<ValueId> columns;
  for (size_t j = 0; j < c.columns.size(); ++j) {
    if (c.columns[j] == kFree)
      columns.push_back(indices(s, {.operand = c.operand, .rows = c.rows, .axes = {c.axes[j]}}, t, mode));
    else if (c.columns[j] == kNought)
      columns.push_back(s.graph.constant(0, t, shape));
    else
      columns.push_back(
          s.graph.add(Op::iota, {}, {{Attr::dtype, t}, {Attr::shape, shape}, {Attr::axis, c.columns[j]}}));
  }
  return s.graph.add(Op::concatenate, columns, {{Attr::axis, static_cast<int64_t>(c.rows.size())}});
}

void check_one_each(Sheet& s, const OneEach& c, Op op, double start, DType t, DType index, IndexMode mode) {
  const Indexed indexed{c.operand, c.rows, c.axes};
  s.check(label(op, t, indexed, mode) + fmt::format(" of {} by {}", start, name(index)), op,
          {s.graph.constant(start, t, c.operand), columns_of(s, c, index, mode),
           s.input(slices_shape(indexed), t, op == Op::scatter_set ? Fill::wild : Fill::tame)},
          attrs_of(indexed, mode));
}

TEST_P(Indices, ScatterOneEachIntoAConstant) {
  Sheet s(static_cast<uint64_t>(GetParam()) + 14);
  for (const OneEach& c : kOneEach) {
    for (const IndexMode mode :
         {IndexMode::clip, IndexMode::fill_or_drop, IndexMode::promise_in_bounds, IndexMode::clamp_update})
      check_one_each(s, c, Op::scatter_add, 0, f32, GetParam(), mode);
  }
  s.run();
}

TEST_P(Operands, ScatterOneEachIntoAConstant) {
  const DType t = GetParam();
  Sheet s(static_cast<uint64_t>(t) + 15);
  for (const OneEach& c : kOneEach) {
    check_one_each(s, c, Op::scatter_set, 1, t, i64, IndexMode::clip);
    if (t != bool_) check_one_each(s, c, Op::scatter_add, 0, t, i8, IndexMode::clamp_update);
    if (t != bool_ && t != u8 && t != u16 && t != u32 && t != u64)
      check_one_each(s, c, Op::scatter_add, -3, t, i32, IndexMode::clip);
  }
  s.run();
}

}  // namespace
}  // namespace neap::conformance
