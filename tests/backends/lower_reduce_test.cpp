// Reduce steps: every reduction, dtype and set of axes, whole and in parts.
#include <set>
#include <string_view>

#include "tests/backends/lowering.h"

namespace neap::backends {
namespace {

PlanStep reduction(Op op, Aval in, Ints axes, int parts = 1) {
  Graph g;
  const ValueId x = g.add_input(std::move(in));
  const bool is_arg = op == Op::argmax || op == Op::argmin;
  g.outputs = {g.add(op, {x}, is_arg ? Attrs{{Attr::axis, axes[0]}} : Attrs{{Attr::axes, axes}})};
  return step_of(g, PlanStep::Kind::reduce, parts);
}

// Compiled code is shared by the text of kernels.
TEST(LowerReduce, EveryCombinationHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int c = 0; c <= static_cast<int>(Combine::argmin); ++c) names.insert(name(static_cast<Combine>(c)));
  EXPECT_EQ(names.size(), static_cast<size_t>(Combine::argmin) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(LowerReduce, EveryFormInOneAndSevenParts) {
  for (int parts : {1, 7}) {
    for (const Ints& axes : {Ints{0}, Ints{1}, Ints{2}, Ints{0, 2}, Ints{2, 1}, Ints{0, 1, 2}, Ints{}}) {
      for (Op op : {Op::reduce_sum, Op::reduce_prod, Op::reduce_max, Op::reduce_min}) {
        for (DType type : {f32, f64, f16, bf16, i8, i32, i64, u8, u32, u64}) {
          const bool product = op == Op::reduce_prod;  // keep it small: halves overflow
          const Shape shape = product && is_float(type) ? Shape{2, 3, 2} : Shape{5, 9, 4};
          SCOPED_TRACE(testing::Message() << tracing::name(op) << " " << name(type) << " in " << parts);
          const auto launches = check(reduction(op, {shape, type}, axes, parts));
          EXPECT_EQ(launches.size(), parts == 1 ? 1u : 2u);
        }
      }
      for (DType type : {i8, i32, i64, u8, u16, u64}) check(reduction(Op::reduce_xor, {{5, 9, 4}, type}, axes, parts));
      for (Op op : {Op::reduce_any, Op::reduce_all}) check(reduction(op, {{5, 9, 4}, bool_}, axes, parts));
    }
    for (Op op : {Op::argmax, Op::argmin}) {
      for (DType type : {f32, bf16, i32, u8}) {
        for (int64_t axis = 0; axis < 3; ++axis) check(reduction(op, {{5, 9, 4}, type}, {axis}, parts));
      }
    }
  }
}

TEST(LowerReduce, SeveralOutputsShareTheirElements) {
  for (int parts : {1, 7}) {
    Graph g;
    const ValueId x = g.add_input({{6, 50}, f32});
    const ValueId e = g.add(Op::exp, {x});
    const Attrs axes{{Attr::axes, Ints{1}}};
    g.outputs = {g.add(Op::reduce_sum, {e}, axes), g.add(Op::reduce_max, {g.add(Op::multiply, {e, x})}, axes)};
    const auto launches = check(step_of(g, PlanStep::Kind::reduce, parts));
    EXPECT_EQ(count_live(launches.at(0).kernel, {scalar::Opcode::load}), 1);
  }
}

TEST(LowerReduce, LanesFollowTheMemory) {
  EXPECT_EQ(lower(reduction(Op::reduce_sum, {{200, 300}, f32}, {1}))[0].kernel.vector_level, 1);
  EXPECT_EQ(lower(reduction(Op::reduce_sum, {{200, 300}, f32}, {0}))[0].kernel.vector_level, 0);
  EXPECT_EQ(lower(reduction(Op::reduce_sum, {{90000}, f32}, {0}))[0].kernel.vector_level, 1);
  EXPECT_EQ(lower(reduction(Op::reduce_sum, {{90000, 2}, f32}, {1}))[0].kernel.vector_level, 0);
  // Along rows of what is flattened: the places in them, which are one row of both last axes.
  const Kernel channels = lower(reduction(Op::reduce_sum, {{16, 64, 32, 32}, f32}, {0, 2, 3}))[0].kernel;
  EXPECT_EQ(channels.vector_level, 1);
  EXPECT_EQ(divisions(channels), 1);
  EXPECT_EQ(lower(reduction(Op::reduce_max, {{64, 100, 500}, f32}, {1}))[0].kernel.vector_level, 0);
}

TEST(LowerReduce, Empty) {
  for (int parts : {1, 7}) {
    for (Op op : {Op::reduce_sum, Op::reduce_prod, Op::reduce_max, Op::reduce_min}) {
      check(reduction(op, {{3, 0, 2}, f32}, {1}, parts));
      check(reduction(op, {{3, 0, 2}, i32}, {1}, parts));
      check(reduction(op, {{0}, f32}, {0}, parts));
    }
    EXPECT_TRUE(check(reduction(Op::reduce_sum, {{3, 0, 2}, f32}, {2}, parts)).empty());
  }
}

TEST(LowerReduce, NotANumber) {
  for (Op op : {Op::reduce_max, Op::reduce_min, Op::argmax, Op::argmin}) {
    const PlanStep step = reduction(op, {{3, 40}, f32}, {1});
    std::mt19937 rng(2);
    const auto inputs = random_inputs(step.group, rng);
    inputs[0].data->as<float>()[47] = NAN;
    inputs[0].data->as<float>()[51] = NAN;
    check(step, inputs);
  }
}

TEST(LowerReduce, SumOfAGatherReadsEachElementOnce) {
  Graph g;
  const ValueId x = g.add_input({{8, 8, 8}, f32}), index = g.add_input({{1000, 3}, i32});
  const ValueId rows = g.add(Op::gather, {x, index}, {{Attr::axes, Ints{0, 1, 2}}, {Attr::mode, 0}});
  g.outputs = {g.add(Op::reduce_sum, {rows}, {{Attr::axes, Ints{0}}})};
  const auto launches = check(step_of(g, PlanStep::Kind::reduce, 7));
  EXPECT_EQ(count_live(launches.at(0).kernel, {scalar::Opcode::load}), 4);
  EXPECT_EQ(divisions(launches[0].kernel), 0);
}

TEST(LowerReduce, RandomRowsNeedNoMemory) {
  Graph g;
  const ValueId keys = g.add_input({{50, 2}, u32});
  const ValueId bits = g.add(Op::random_bits, {keys}, {{Attr::shape, Ints{100}}, {Attr::dtype, u32}});
  const ValueId small = g.add(Op::shift_right, {bits, g.constant(8, u32, {50, 100})});
  g.outputs = {g.add(Op::reduce_sum, {g.add(Op::convert, {small}, {{Attr::dtype, f32}})}, {{Attr::axes, Ints{1}}})};
  const auto launches = check(step_of(g, PlanStep::Kind::reduce));
  EXPECT_EQ(launches.at(0).kernel.extent, (std::array<int64_t, 2>{50, 100}));
  EXPECT_EQ(divisions(launches[0].kernel), 0);
}

}  // namespace
}  // namespace neap::backends
