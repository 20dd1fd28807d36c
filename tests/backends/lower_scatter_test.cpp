// Scatter steps: every op, form and mode, small and large windows, in place and not.
#include "tests/backends/lowering.h"

namespace neap::backends {
namespace {

struct Case {
  Op op = Op::scatter_add;
  DType type = f32;
  Shape operand{6, 5, 4};
  Ints axes{0};
  Shape batch{23};
  DType index_type = i32;
  int64_t mode = 1;
};

// scatter(operand, index, 2 * updates), or of one constant; every operand but a constant one is an input.
PlanStep scatter(const Case& c, std::optional<double> constant_update = {}, bool zero_operand = false) {
  Graph g;
  Shape index = c.batch, updates = c.batch;
  index.push_back(static_cast<int64_t>(c.axes.size()));
  for (int64_t d = 0; d < static_cast<int64_t>(c.operand.size()); ++d) {
    if (std::ranges::find(c.axes, d) == c.axes.end()) updates.push_back(c.operand[d]);
  }
  const ValueId operand = zero_operand ? g.constant(0, c.type, c.operand) : g.add_input({c.operand, c.type});
  const ValueId indices = g.add_input({index, c.index_type});
  ValueId update;
  if (constant_update) {
    update = g.constant(*constant_update, c.type, updates);
  } else {
    update = g.add_input({updates, c.type});
    if (c.type != bool_) update = g.add(Op::add, {update, update});
  }
  g.outputs = {g.add(c.op, {operand, indices, update}, {{Attr::axes, c.axes}, {Attr::mode, c.mode}})};
  return step_of(g, PlanStep::Kind::scatter);
}

const std::vector<Ints> kAxes{{0}, {1}, {2}, {0, 2}, {0, 1}, {0, 1, 2}};

TEST(LowerScatter, DirectOfEveryOp) {
  for (Op op : {Op::scatter_set, Op::scatter_add, Op::scatter_mul, Op::scatter_min, Op::scatter_max}) {
    for (DType type : {f32, f64, i32, u8, i64}) {
      for (const Ints& axes : kAxes) {
        for (int64_t mode : {0, 1, 3}) {
          Case c{.op = op, .type = type, .axes = axes, .mode = mode};
          if (op == Op::scatter_mul) c.batch = {5};
          SCOPED_TRACE(testing::Message() << tracing::name(op) << " " << name(type) << " mode " << mode);
          PlanStep step = scatter(c);
          EXPECT_EQ(check(step).size(), 2u);
          step.operand_in_place = true;
          EXPECT_EQ(check(step).size(), 1u);
          if (op == Op::scatter_add) {
            const auto launches = check(scatter(c, {}, true));
            EXPECT_EQ(launches.size(), 1u);
            EXPECT_EQ(launches[0].zero_fill.size(), 1u);
          }
        }
      }
    }
  }
}

// The places of rows [6, 10] of a window of a flat array [9, 16]: where each goes follows from its number.
PlanStep counted(Op op, int64_t first) {
  Graph g;
  const ValueId operand = g.add_input({{144}, f32}), update = g.add_input({{6, 10}, f32});
  ValueId at = g.add(Op::iota, {}, {{Attr::dtype, i64}, {Attr::shape, Shape{144}}, {Attr::axis, int64_t{0}}});
  at = g.add(Op::reshape, {at}, {{Attr::shape, Shape{9, 16}}});
  at = g.add(Op::slice, {at}, {{Attr::start, Ints{2, 3}}, {Attr::limit, Ints{8, 13}}, {Attr::stride, Ints{1, 1}}});
  at = g.add(Op::add, {at, g.constant(static_cast<double>(first), i64, {6, 10})});
  at = g.add(Op::reshape, {at}, {{Attr::shape, Shape{6, 10, 1}}});
  const ValueId twice = g.add(Op::add, {update, update});
  g.outputs = {g.add(op, {operand, at, twice}, {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{1}}})};
  PlanStep step = step_of(g, PlanStep::Kind::scatter);
  step.operand_in_place = true;
  step.unique_indices = true;
  return step;
}

TEST(LowerScatter, CountedRowsLieSideBySide) {
  for (const Op op : {Op::scatter_set, Op::scatter_add, Op::scatter_max}) {
    const auto launches = check(counted(op, 0));
    ASSERT_EQ(launches.size(), 1u);
    const Kernel& kernel = launches[0].kernel;
    EXPECT_EQ(kernel.extent, (std::array<int64_t, 2>{6, 10}));
    EXPECT_EQ(kernel.scatters[0].valid, -1) << kernel.print();
    EXPECT_EQ(divisions(kernel), 0) << kernel.print();
    // Past the end, and from the end: both are tested for.
    for (const int64_t first : {60, -60}) EXPECT_GE(check(counted(op, first))[0].kernel.scatters[0].valid, 0);
  }
}

TEST(LowerScatter, SetOfBoolsAndHalves) {
  for (DType type : {bool_, f16, bf16}) check(scatter({.op = Op::scatter_set, .type = type}));
}

TEST(LowerScatter, IndexTypes) {
  for (DType type : {i8, i16, i32, i64, u8, u16, u32, u64}) {
    check(scatter({.axes = {0, 1}, .batch = {3, 9}, .index_type = type}));
  }
}

TEST(LowerScatter, Tables) {
  for (DType type : {f32, f64, bf16, f16, i32, i16}) {
    const DType table = type == bf16 || type == f16 ? f32 : type;
    for (const Ints& axes : kAxes) {
      for (int parts : {1, 2, 5}) {
        for (bool zero : {false, true}) {
          for (bool in_place : {false, true}) {
            if (zero && in_place) continue;
            SCOPED_TRACE(testing::Message() << name(type) << " in " << parts << (in_place ? " in place" : ""));
            PlanStep step = scatter({.type = type, .axes = axes}, {}, zero);
            step.form = ScatterForm::tables;
            step.table_dtype = table;
            step.partials = parts;
            step.operand_in_place = in_place;
            const auto launches = check(step);
            EXPECT_EQ(launches.at(0).part0_operand >= 0, size_of(table) == size_of(type) && parts > 1);
            if (table == type && parts == 1 && (zero || in_place)) EXPECT_EQ(launches.size(), 1u);
          }
        }
      }
    }
  }
}

TEST(LowerScatter, Counts) {
  for (DType type : {f32, f64, bf16, i32, i64, u8}) {
    for (const Ints& axes : kAxes) {
      for (int parts : {1, 2, 5}) {
        for (bool zero : {false, true}) {
          PlanStep step = scatter({.type = type, .axes = axes}, is_float(type) ? 2.5 : 3, zero);
          step.form = ScatterForm::counts;
          step.table_dtype = u32;
          step.partials = parts;
          SCOPED_TRACE(testing::Message() << name(type) << " in " << parts);
          check(step);
        }
      }
    }
  }
}

TEST(LowerScatter, Winners) {
  for (DType type : {f32, bool_, bf16, i64}) {
    for (const Ints& axes : kAxes) {
      for (int64_t mode : {0, 1, 3}) {
        for (bool in_place : {false, true}) {
          PlanStep step = scatter({.op = Op::scatter_set, .type = type, .axes = axes, .mode = mode});
          step.form = ScatterForm::winners;
          step.table_dtype = u32;
          step.operand_in_place = in_place;
          SCOPED_TRACE(testing::Message() << name(type) << " mode " << mode << (in_place ? " in place" : ""));
          EXPECT_EQ(check(step).size(), in_place ? 2u : 3u);
        }
      }
    }
  }
}

TEST(LowerScatter, CountsOfOneScalarInput) {
  Graph g;
  const ValueId index = g.add_input({{100, 1}, i16}), scale = g.add_input({{}, f32});
  const ValueId update = g.add(Op::broadcast_in_dim, {scale}, {{Attr::shape, Ints{100}}, {Attr::axes, Ints{}}});
  g.outputs = {
      g.add(Op::scatter_add, {g.constant(0, f32, {9}), index, update}, {{Attr::axes, Ints{0}}, {Attr::mode, 1}})};
  PlanStep step = step_of(g, PlanStep::Kind::scatter, 3);
  step.form = ScatterForm::counts;
  step.table_dtype = u32;
  check(step);
}

TEST(LowerScatter, CountsOfAnInfiniteUpdateLeaveTheRestAlone) {
  for (bool zero : {false, true}) {
    PlanStep step = scatter({.axes = {0, 1, 2}}, std::numeric_limits<double>::infinity(), zero);
    step.form = ScatterForm::counts;
    step.table_dtype = u32;
    step.partials = 2;
    check(step);
  }
}

TEST(LowerScatter, CountsRoundOnce) {
  // 3 x 0.1 in bf16: the sum of rounded sums is another number.
  Graph g;
  const ValueId index = g.add_input({{1000, 1}, u8});
  g.outputs = {g.add(Op::scatter_add, {g.constant(0, bf16, {2}), index, g.constant(0.1, bf16, {1000})},
                     {{Attr::axes, Ints{0}}, {Attr::mode, 1}})};
  PlanStep step = step_of(g, PlanStep::Kind::scatter, 2);
  step.form = ScatterForm::counts;
  std::vector<HostValue> inputs{{{{1000, 1}, u8}, allocate(1000, "test")}};
  std::memset(inputs[0].data->data(), 0, 1000);
  const auto got = run_kernels(step, inputs, lower(step));
  EXPECT_EQ(static_cast<float>(got[0].data->as<bfloat16>()[0]),
            static_cast<float>(bfloat16(1000 * static_cast<float>(bfloat16(0.1f)))));
  EXPECT_EQ(static_cast<float>(got[0].data->as<bfloat16>()[1]), 0.0f);
}

TEST(LowerScatter, Loops) {
  EXPECT_EQ(lower(scatter({.axes = {0}}))[1].kernel.extent, (std::array<int64_t, 2>{23, 20}));
  EXPECT_EQ(lower(scatter({.axes = {0, 1}}))[1].kernel.extent, (std::array<int64_t, 2>{1, 92}));
  const auto flat = lower(scatter({.axes = {0, 1, 2}, .batch = {2, 7}}));
  EXPECT_EQ(flat[1].kernel.extent, (std::array<int64_t, 2>{1, 14}));
  EXPECT_EQ(divisions(flat[1].kernel), 0);
}

TEST(LowerScatter, Empty) {
  for (ScatterForm form : {ScatterForm::direct, ScatterForm::tables}) {
    PlanStep none = scatter({.batch = {0}});
    none.form = form;
    check(none);
    none.operand_in_place = true;
    EXPECT_TRUE(check(none).empty());
    PlanStep nowhere = scatter({.operand = {0, 4}});
    nowhere.form = form;
    EXPECT_TRUE(check(nowhere).empty());
  }
}

TEST(LowerScatter, GradientOfAGatherOverThreeColumns) {
  Graph g;
  std::vector<ValueId> columns;
  for (int i = 0; i < 3; ++i) {
    columns.push_back(g.add(Op::reshape, {g.add_input({{500}, i16})}, {{Attr::shape, Ints{500, 1}}}));
  }
  const ValueId index = g.add(Op::concatenate, columns, {{Attr::axis, 1}});
  g.outputs = {g.add(Op::scatter_add, {g.constant(0, f32, {7, 7, 7}), index, g.constant(2.5, f32, {500})},
                     {{Attr::axes, Ints{0, 1, 2}}, {Attr::mode, 1}})};
  PlanStep step = step_of(g, PlanStep::Kind::scatter, 2);
  step.form = ScatterForm::counts;
  const auto launches = check(step);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(count_live(launches[0].kernel, {scalar::Opcode::load}), 3);
  EXPECT_EQ(selects(launches[0].kernel), 3) << "negative indices only";
  EXPECT_EQ(divisions(launches[1].kernel), 0);
}

}  // namespace
}  // namespace neap::backends
