// Map steps: every op that a fused group may hold, alone and composed, and the form of the kernels.
#include "backends/lower.h"
#include "tests/backends/lowering.h"
#include "tests/trace/samples.h"
#include "trace/graph/op_table.h"

namespace neap::backends {
namespace {

using tracing::Family;

std::array<int64_t, 2> extent(const std::vector<Launch>& launches) { return launches.at(0).kernel.extent; }

Graph unary(Aval in, Op op, Attrs attrs) {
  Graph g;
  g.outputs = {g.add(op, {g.add_input(std::move(in))}, std::move(attrs))};
  return g;
}

TEST(Lower, EveryOpThatAGroupMayHold) {
  int count = 0;
  for (const tracing::OpInfo& info : tracing::op_table()) {
    if (info.family == Family::dot || info.family == Family::sort || info.family == Family::control) continue;
    if (info.family == Family::factor || info.family == Family::cumulative || info.family == Family::convolution)
      continue;
    if (info.family == Family::complex || info.family == Family::fft) continue;  // made real before
    if (info.family == Family::call) continue;                                   // inlined before anything is grouped
    if (info.family == Family::host || info.family == Family::collective) continue;  // a step of its own
    SCOPED_TRACE(info.name);
    for (DType type : {f32, i32, f16, bf16, u8}) {
      if (info.family == Family::elementwise ? !tracing::accepts(info.types, type) : type != f32) continue;
      PlanStep step = step_of(tracing::sample_graph(info.op, type));
      if (info.family == Family::reduce || info.family == Family::argreduce) step.kind = PlanStep::Kind::reduce;
      if (info.family == Family::scatter) step.kind = PlanStep::Kind::scatter;
      std::mt19937 rng(1);
      auto inputs = random_inputs(step.group, rng);
      // An offset must lie within the full shape.
      if (info.op == Op::random_bits && inputs.size() > 1) std::memset(inputs[1].data->data(), 0, 16);
      check(step, inputs);
      ++count;
    }
  }
  EXPECT_GT(count, 100);
}

// x[i * 4 + j] of a window that is counted, in every integer arithmetic that counts: a plain load.
TEST(Lower, CountedIndicesArePlainPlaces) {
  const auto gathered = [](DType type, int64_t last) {
    Graph g;
    const ValueId x = g.add_input({{100}, f32});
    const auto along = [&](int64_t axis) {
      return g.add(Op::iota, {}, {{Attr::dtype, type}, {Attr::shape, Shape{20, 12}}, {Attr::axis, axis}});
    };
    const auto constant = [&](int64_t value) { return g.constant(static_cast<double>(value), type, {20, 12}); };
    ValueId at = g.add(Op::add, {g.add(Op::multiply, {along(0), constant(4)}), along(1)});
    at = g.add(Op::minimum, {g.add(Op::subtract, {g.add(Op::add, {at, constant(9)}), constant(9)}), constant(last)});
    at = g.add(Op::reshape, {at}, {{Attr::shape, Shape{20, 12, 1}}});
    g.outputs = {g.add(Op::gather, {x, at}, {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{0}}})};
    return check(step_of(g)).at(0).kernel;
  };
  for (const DType type : {i32, u32, i64, u8, i8}) {
    const Kernel kernel = gathered(type, 99);
    EXPECT_EQ(count_live(kernel, {scalar::Opcode::select}), 0) << kernel.print();
    EXPECT_EQ(count_live(kernel, {scalar::Opcode::load}), 1);
  }
  EXPECT_EQ(count_live(gathered(i32, 50), {scalar::Opcode::select}), 1) << "clamped";
  Graph wraps;  // of u8, beyond 255
  const ValueId x = wraps.add_input({{300}, f32});
  ValueId at = wraps.add(Op::iota, {}, {{Attr::dtype, u8}, {Attr::shape, Shape{200}}, {Attr::axis, int64_t{0}}});
  at = wraps.add(Op::add, {at, wraps.constant(100, u8, {200})});
  at = wraps.add(Op::reshape, {at}, {{Attr::shape, Shape{200, 1}}});
  wraps.outputs = {wraps.add(Op::gather, {x, at}, {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{0}}})};
  check(step_of(wraps));
}

TEST(Lower, ElementwiseChainIsFlat) {
  for (const Shape& shape : {Shape{5, 7, 3}, Shape{}, Shape{1}, Shape{0, 4}, Shape{300}}) {
    Graph g;
    const ValueId x = g.add_input({shape, f32}), y = g.add_input({shape, f32});
    const ValueId sum = g.add(Op::add, {x, y});
    g.outputs = {g.add(Op::multiply, {sum, g.add(Op::tanh, {sum})}), sum};
    const auto launches = check(step_of(g));
    if (element_count(shape) == 0) {
      EXPECT_TRUE(launches.empty());
      continue;
    }
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(extent(launches), (std::array<int64_t, 2>{1, element_count(shape)}));
    EXPECT_EQ(divisions(launches[0].kernel), 0);
    EXPECT_EQ(count_live(launches[0].kernel, {scalar::Opcode::load}), 2) << "shared between the outputs";
  }
}

TEST(Lower, RandomIsFlat) {
  for (DType type : {u8, u16, u32, u64}) {
    Graph g;
    const ValueId key = g.add_input({{2}, u32});
    const ValueId bits = g.add(Op::random_bits, {key}, {{Attr::shape, Ints{5, 7}}, {Attr::dtype, type}});
    g.outputs = {g.add(Op::convert, {bits}, {{Attr::dtype, f32}}), bits};
    const auto launches = check(step_of(g));
    EXPECT_EQ(extent(launches), (std::array<int64_t, 2>{1, 35}));
    EXPECT_EQ(divisions(launches[0].kernel), 0);
  }
}

TEST(Lower, RandomOfKeysIsRowsByColumns) {
  Graph g;
  const ValueId key = g.add_input({{3, 2, 2}, u32});
  g.outputs = {g.add(Op::random_bits, {key}, {{Attr::shape, Ints{5, 20}}, {Attr::dtype, u32}})};
  const auto launches = check(step_of(g));
  EXPECT_EQ(extent(launches), (std::array<int64_t, 2>{6, 100}));
  EXPECT_EQ(divisions(launches[0].kernel), 0);
}

TEST(Lower, RandomWithOffset) {
  for (const Ints& offset : {Ints{0, 0}, Ints{2, 3}, Ints{4, 0}}) {
    Graph g;
    const ValueId key = g.add_input({{2}, u32}), start = g.add_input({{2}, i64});
    g.outputs = {g.add(Op::random_bits, {key, start},
                       {{Attr::shape, Ints{3, 20}}, {Attr::dtype, u32}, {Attr::full_shape, Ints{7, 23}}})};
    std::mt19937 rng(3);
    auto inputs = random_inputs(g, rng);
    std::copy(offset.begin(), offset.end(), inputs[1].data->as<int64_t>());
    check(step_of(g), inputs);
  }
}

TEST(Lower, RandomPastTwoToThe32) {
  // The last elements of 2^33 + 6: the high word of the counter is needed.
  Graph g;
  const int64_t n = (int64_t{1} << 33) + 6;
  const ValueId key = g.add_input({{2}, u32});
  const ValueId bits = g.add(Op::random_bits, {key}, {{Attr::shape, Ints{n}}, {Attr::dtype, u32}});
  g.outputs = {g.add(Op::slice, {bits}, {{Attr::start, Ints{n - 9}}, {Attr::limit, Ints{n}}, {Attr::stride, Ints{1}}})};
  const auto launches = lower(step_of(g));
  std::mt19937 rng(3);
  const auto inputs = random_inputs(g, rng);
  const auto got = run_kernels(step_of(g), inputs, launches);
  Graph small;
  const ValueId k = small.add_input({{2}, u32}), start = small.add_input({{1}, i64});
  small.outputs = {small.add(Op::random_bits, {k, start},
                             {{Attr::shape, Ints{9}}, {Attr::dtype, u32}, {Attr::full_shape, Ints{n}}})};
  auto small_inputs = inputs;
  small_inputs.push_back({{{1}, i64}, allocate(8, "test")});
  small_inputs[1].data->as<int64_t>()[0] = n - 9;
  expect_equal(got[0], tracing::evaluate_reference(small, small_inputs)[0]);
}

TEST(Lower, BroadcastRowsStayOnTheOuterLoop) {
  Graph g;
  const ValueId x = g.add_input({{6, 40}, f32}), column = g.add_input({{6}, f32}), row = g.add_input({{40}, f32});
  const ValueId b = g.add(Op::broadcast_in_dim, {column}, {{Attr::shape, Ints{6, 40}}, {Attr::axes, Ints{0}}});
  const ValueId c = g.add(Op::broadcast_in_dim, {row}, {{Attr::shape, Ints{6, 40}}, {Attr::axes, Ints{1}}});
  g.outputs = {g.add(Op::add, {g.add(Op::multiply, {x, b}), c})};
  const auto launches = check(step_of(g));
  EXPECT_EQ(extent(launches), (std::array<int64_t, 2>{6, 40}));
  EXPECT_EQ(divisions(launches[0].kernel), 0);
}

TEST(Lower, FewColumnsAreWrittenTogether) {
  for (const Shape& shape : {Shape{100, 3}, Shape{70, 2, 1}, Shape{5, 200, 2}, Shape{3, 500, 8}}) {
    const int64_t columns = shape.back() == 1 ? shape[1] : shape.back(), count = element_count(shape);
    Graph g;
    const ValueId x = g.add_input({shape, f32});
    const auto axis = static_cast<int64_t>(shape.size()) - (shape.back() == 1 ? 2 : 1);
    const ValueId reversed = g.add(Op::reverse, {x}, {{Attr::axes, Ints{axis}}});
    g.outputs = {g.add(Op::subtract, {x, reversed})};
    const auto launches = check(step_of(g));
    ASSERT_EQ(launches.size(), 1u);
    if (columns == 8) continue;  // no cheaper
    EXPECT_EQ(extent(launches), (std::array<int64_t, 2>{1, count / columns}));
    EXPECT_EQ(static_cast<int64_t>(launches[0].kernel.stores.size()), columns);
    EXPECT_EQ(divisions(launches[0].kernel), 0);
    // Another output of as many elements shares the kernel, whatever its shape.
    const Shape other = {count / 5, 5};
    const ValueId y = g.add_input({other, f32});
    g.outputs.push_back(g.add(Op::reverse, {y}, {{Attr::axes, Ints{1}}}));
    EXPECT_EQ(check(step_of(g)).size(), 1u);
  }
}

TEST(Lower, ReshapeLeavesNoDivision) {
  for (const Shape& to : {Shape{6, 20}, Shape{120}, Shape{2, 3, 4, 5}, Shape{1, 24, 1, 5}, Shape{8, 15}}) {
    const auto launches = check(step_of(unary({{4, 6, 5}, f32}, Op::reshape, {{Attr::shape, to}})));
    EXPECT_EQ(extent(launches), (std::array<int64_t, 2>{1, 120}));
    EXPECT_EQ(divisions(launches[0].kernel), 0);
  }
}

TEST(Lower, ReshapeOfTranspose) {
  Graph g;
  const ValueId x = g.add_input({{4, 6, 5}, f32});
  const ValueId t = g.add(Op::transpose, {x}, {{Attr::permutation, Ints{2, 0, 1}}});
  const ValueId r = g.add(Op::reshape, {t}, {{Attr::shape, Ints{10, 12}}});
  const ValueId back = g.add(Op::transpose, {g.add(Op::reshape, {r}, {{Attr::shape, Ints{5, 4, 6}}})},
                             {{Attr::permutation, Ints{1, 2, 0}}});
  g.outputs = {r};
  check(step_of(g));
  g.outputs = {back};
  const auto launches = check(step_of(g));
  EXPECT_EQ(extent(launches), (std::array<int64_t, 2>{1, 120})) << "it is the identity";
  EXPECT_EQ(divisions(launches[0].kernel), 0);
}

// What lanes find far apart lies side by side for neighbouring rows, so that tiles of both share what they read.
TEST(Lower, RowsGoAlongWhatLanesJumpOver) {
  const Shape shape{20, 18, 1, 16};
  for (const Ints& order : {Ints{3, 1, 2, 0}, Ints{3, 2, 1, 0}, Ints{1, 3, 2, 0}, Ints{0, 3, 1, 2}, Ints{2, 3, 1, 0}}) {
    Graph g;
    const ValueId x = g.add_input({shape, f32});
    const ValueId t = g.add(Op::transpose, {x}, {{Attr::permutation, order}});
    g.outputs = {g.add(Op::add, {t, g.add_input({g.aval(t).shape, f32})})};
    const auto launches = check(step_of(g));
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(far_loads(launches[0].kernel), 0) << launches[0].kernel.print();
  }
  Graph g;  // which is not the same for both
  const ValueId x = g.add_input({{16, 17, 18, 19}, f32}), y = g.add_input({{19, 16, 17, 18}, f32});
  g.outputs = {g.add(Op::add, {g.add(Op::transpose, {x}, {{Attr::permutation, Ints{3, 2, 1, 0}}}),
                               g.add(Op::transpose, {y}, {{Attr::permutation, Ints{0, 3, 2, 1}}})})};
  EXPECT_EQ(far_loads(check(step_of(g)).at(0).kernel), 1);
}

TEST(Lower, SplitAndMergeOfOneAxis) {
  Graph g;
  const ValueId x = g.add_input({{6, 35}, f32});
  const ValueId wide = g.add(Op::reshape, {x}, {{Attr::shape, Ints{2, 3, 5, 7}}});
  const ValueId t = g.add(Op::transpose, {wide}, {{Attr::permutation, Ints{1, 0, 2, 3}}});
  g.outputs = {g.add(Op::reshape, {t}, {{Attr::shape, Ints{210}}})};
  check(step_of(g));
}

// Columns [n] of an index joined to [n, 3] and taken apart again.
TEST(Lower, GatherReadsTheColumnsOfAConcatenation) {
  Graph g;
  const ValueId x = g.add_input({{4, 5, 6}, f32});
  std::vector<ValueId> columns;
  for (int i = 0; i < 3; ++i) {
    columns.push_back(g.add(Op::reshape, {g.add_input({{50}, u8})}, {{Attr::shape, Ints{50, 1}}}));
  }
  const ValueId index = g.add(Op::concatenate, columns, {{Attr::axis, 1}});
  g.outputs = {g.add(Op::gather, {x, index}, {{Attr::axes, Ints{0, 1, 2}}, {Attr::mode, 2}})};
  std::mt19937 rng(5);
  auto inputs = random_inputs(g, rng);
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < 50; ++i) inputs[1 + c].data->as<uint8_t>()[i] = static_cast<uint8_t>(rng() % (4 + c));
  }
  const auto launches = check(step_of(g), inputs);
  EXPECT_EQ(extent(launches), (std::array<int64_t, 2>{1, 50}));
  EXPECT_EQ(selects(launches[0].kernel), 0);
  EXPECT_EQ(divisions(launches[0].kernel), 0);
  EXPECT_EQ(count_live(launches[0].kernel, {scalar::Opcode::load}), 4);
}

TEST(Lower, GatherModesAndIndexTypes) {
  for (int64_t mode = 0; mode < 2; ++mode) {
    for (DType type : {i8, i16, i32, i64, u8, u16, u64}) {
      for (const Ints& axes : {Ints{0}, Ints{1}, Ints{0, 2}, Ints{0, 1, 2}}) {
        Graph g;
        const ValueId x = g.add_input({{4, 9, 6}, i32});
        const ValueId index = g.add_input({{3, 7, static_cast<int64_t>(axes.size())}, type});
        g.outputs = {g.add(Op::gather, {x, index}, {{Attr::axes, axes}, {Attr::mode, mode}})};
        check(step_of(g), static_cast<unsigned>(mode + 1));
      }
    }
  }
}

TEST(Lower, OneIndexOfOperandsOfSeveralExtents) {  // u8 needs no clamp in either
  for (int64_t mode : {0, 1}) {
    Graph g;
    const ValueId index = g.add_input({{40, 1}, u8});
    std::vector<ValueId> read;
    for (int64_t extent : {1000, 256, 300}) {
      const ValueId x = g.add(Op::transpose, {g.add_input({{extent / 4, 4}, f32})}, {{Attr::permutation, Ints{1, 0}}});
      const ValueId flat = g.add(Op::reshape, {x}, {{Attr::shape, Ints{extent}}});
      read.push_back(g.add(Op::gather, {flat, index}, {{Attr::axes, Ints{0}}, {Attr::mode, mode}}));
    }
    g.outputs = {g.add(Op::add, {g.add(Op::add, {read[0], read[1]}), read[2]})};
    check(step_of(g));
  }
}

// Just above and at the middle between two neighbours of bf16, where f64 on the way would round to the middle.
TEST(Lower, LargeIntegersAreRoundedOnce) {
  for (DType type : {i64, u64}) {
    std::vector<int64_t> values{0, -1, 255, 257, (int64_t{1} << 32) + 1, std::numeric_limits<int64_t>::min()};
    for (int bit = 33; bit < 63; ++bit) {
      for (int64_t off : {-1, 0, 1, 5000}) {
        values.push_back((int64_t{1} << bit) + (int64_t{1} << (bit - 8)) + off);
        values.push_back(-values.back());
      }
    }
    const auto n = static_cast<int64_t>(values.size());
    Graph g;
    const ValueId x = g.add_input({{n}, type});
    g.outputs = {g.add(Op::convert, {x}, {{Attr::dtype, bf16}}), g.add(Op::convert, {x}, {{Attr::dtype, f16}})};
    std::vector<HostValue> inputs{{{{n}, type}, allocate(values.size() * 8, "test")}};
    std::memcpy(inputs[0].data->data(), values.data(), values.size() * 8);
    PlanStep step = step_of(g);
    const auto want = tracing::evaluate_reference(g, inputs), got = run_kernels(step, inputs, lower(step));
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(std::memcmp(got[i].data->data(), want[i].data->data(), values.size() * 2), 0) << name(type);
    }
  }
}

TEST(Lower, PadConcatenateEmpty) {
  Graph g;
  const ValueId empty = g.add_input({{3, 0}, f32}), x = g.add_input({{3, 2}, f32}), fill = g.add_input({{}, f32});
  const ValueId padded =
      g.add(Op::pad, {empty, fill}, {{Attr::low, Ints{0, 1}}, {Attr::high, Ints{0, 2}}, {Attr::interior, Ints{0, 3}}});
  g.outputs = {g.add(Op::concatenate, {empty, x, empty, padded, x}, {{Attr::axis, 1}})};
  check(step_of(g));
}

TEST(Lower, LargeConcatenationsAreWrittenPieceByPiece) {
  for (int64_t axis : {0, 1, 2}) {
    Graph g;
    Shape a{10, 20, 30}, b = a, none = a;
    b[axis] = 17;
    none[axis] = 0;
    const ValueId x = g.add_input({a, f32}), y = g.add_input({b, f32}), z = g.add_input({none, f32});
    const ValueId joined = g.add(Op::concatenate, {g.add(Op::negative, {x}), z, y}, {{Attr::axis, axis}});
    g.outputs = {joined, g.add(Op::negative, {joined})};
    const auto launches = check(step_of(g));
    ASSERT_EQ(launches.size(), 3u) << "two pieces, and the other output";
    EXPECT_EQ(selects(launches[0].kernel) + selects(launches[1].kernel), 0);
    EXPECT_EQ(divisions(launches[0].kernel), 0);
  }
}

TEST(Lower, ManyPiecesToo) {  // by selects the work would grow with their number times their size
  Graph g;
  std::vector<ValueId> pieces;
  const ValueId x = g.add_input({{100}, f32});
  for (int i = 0; i < 50; ++i) pieces.push_back(g.add(Op::multiply, {x, g.constant(i, f32, {100})}));
  g.outputs = {g.add(Op::concatenate, pieces, {{Attr::axis, 0}})};
  const auto launches = check(step_of(g));
  ASSERT_EQ(launches.size(), pieces.size());
  for (const Launch& launch : launches) EXPECT_EQ(selects(launch.kernel), 0);
}

TEST(Lower, StridesMayOverflow) {  // of a product that the user wraps; the estimate must not
  Graph g;
  const Shape shape{300};
  const ValueId big = g.constant(int64_t{1} << 40, i64, shape);
  const ValueId i = g.add(Op::iota, {}, {{Attr::dtype, i64}, {Attr::shape, shape}, {Attr::axis, 0}});
  const ValueId wrapped = g.add(Op::multiply, {g.add(Op::multiply, {i, big}), big});
  g.outputs = {g.add(Op::subtract, {wrapped, g.add(Op::multiply, {wrapped, big})}), wrapped};
  check(step_of(g));
}

TEST(Lower, OutputsOfSeveralSizes) {
  Graph g;
  const ValueId x = g.add_input({{6, 4}, f32});
  const ValueId y = g.add(Op::negative, {x});
  g.outputs = {
      y, g.add(Op::slice, {y}, {{Attr::start, Ints{1, 0}}, {Attr::limit, Ints{6, 4}}, {Attr::stride, Ints{2, 3}}}),
      g.add(Op::reshape, {y}, {{Attr::shape, Ints{24}}}), g.add(Op::transpose, {y}, {{Attr::permutation, Ints{1, 0}}}),
      x};
  const auto launches = check(step_of(g));
  EXPECT_EQ(launches.size(), 2u);
}

TEST(Lower, LargeExtentsUseWideIndices) {
  Graph g;
  const int64_t n = int64_t{1} << 33;
  const ValueId x = g.add_input({{n, 3}, f32});
  g.outputs = {
      g.add(Op::slice, {x}, {{Attr::start, Ints{0, 1}}, {Attr::limit, Ints{n, 2}}, {Attr::stride, Ints{1, 1}}})};
  const auto launches = lower(step_of(g));
  const Kernel& kernel = launches.at(0).kernel;
  EXPECT_EQ(kernel.extent, (std::array<int64_t, 2>{1, n}));
  EXPECT_EQ(kernel.dag[kernel.stores[0].index].type, i64);
  EXPECT_EQ(divisions(kernel), 0);
}

TEST(Lower, PrintNamesEverything) {
  Graph g;
  const ValueId x = g.add_input({{4}, f32});
  g.outputs = {g.add(Op::negative, {x})};
  EXPECT_EQ(lower(step_of(g)).at(0).kernel.print(),
            "map [1, 4] lanes 1\n"
            "buffers 0:f32 in, 1:f32 out\n"
            "%0 = index u32 1\n"
            "%1 = load f32 0 %0\n"
            "%2 = neg f32 %1\n"
            "store 1[%0] = %2\n");
}

}  // namespace
}  // namespace neap::backends
