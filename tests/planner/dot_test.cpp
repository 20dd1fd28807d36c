// Every dot_general becomes the canonical one, or ops that fuse.
#include "planner/kernels/dot.h"

#include <gtest/gtest.h>
#include <neap/error.h>

#include "graphs.h"
#include "planner/kernels/dot_scratch.h"
#include "planner/kernels/partials.h"
#include "planner/plan/marks.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/rewrite/lower_dot.h"
#include "planner/rewrite/simplify.h"
#include "planner/search/make_plan.h"
#include "planner/slice/partial_sums.h"
#include "tests/count.h"

namespace neap::planner {
namespace {

ValueId dot(Graph& g, ValueId a, ValueId b, Ints a_batch, Ints b_batch, Ints a_contract, Ints b_contract) {
  return g.add(Op::dot_general, {a, b},
               {{Attr::lhs_batch, std::move(a_batch)},
                {Attr::rhs_batch, std::move(b_batch)},
                {Attr::lhs_contract, std::move(a_contract)},
                {Attr::rhs_contract, std::move(b_contract)}});
}

DotForm only_form(const Graph& g) {
  for (const tracing::Node& node : g.nodes) {
    if (node.op == Op::dot_general) return dot_form(g, node);
  }
  ADD_FAILURE() << print(g);
  return {};
}

TEST(Dot, PlainProductsNeedNoCopy) {
  Graph g;
  const ValueId a = g.add_input({{7, 5}, DType::f32}), b = g.add_input({{5, 3}, DType::f32});
  g.outputs = {matmul(g, a, b)};
  const Graph simple = simplify(g);
  EXPECT_EQ(only_form(simple), (DotForm{1, 7, 3, 5, false, false, DType::f32}));
  EXPECT_EQ(count(simple, Op::transpose), 0);
  EXPECT_EQ(simple.aval(simple.outputs[0]), g.aval(g.outputs[0]));
  EXPECT_EQ(simplify(simple), simple);
}

TEST(Dot, TransposedOperandsAreReadAsTheyLie) {
  Graph g;
  const ValueId a = g.add_input({{5, 7}, DType::f64}), b = g.add_input({{3, 5}, DType::f64});
  const auto t = [&](ValueId v) { return g.add(Op::transpose, {v}, {{Attr::permutation, Ints{1, 0}}}); };
  g.outputs = {matmul(g, t(a), t(b))};
  const Graph simple = simplify(g);
  EXPECT_EQ(only_form(simple), (DotForm{1, 7, 3, 5, true, true, DType::f64}));
  EXPECT_EQ(count(simple, Op::transpose), 0) << print(simple);
}

TEST(Dot, ATransposedResultSwapsTheOperands) {
  Graph g;
  const ValueId x = g.add_input({{100, 64}, DType::f32}), dy = g.add_input({{100, 10}, DType::f32});
  const ValueId dw = dot(g, dy, x, {}, {}, {0}, {0});  // [10, 64]
  g.outputs = {g.add(Op::transpose, {dw}, {{Attr::permutation, Ints{1, 0}}})};
  const Graph simple = simplify(g);
  EXPECT_EQ(only_form(simple), (DotForm{1, 64, 10, 100, true, false, DType::f32}));
  EXPECT_EQ(count(simple, Op::transpose), 0) << print(simple);
  EXPECT_EQ(simple.aval(simple.outputs[0]).shape, (Shape{64, 10}));
}

TEST(Dot, AResultReadBothWaysIsComputedOnce) {
  Graph g;
  const ValueId a = g.add_input({{7, 5}, DType::f32}), b = g.add_input({{5, 3}, DType::f32});
  const ValueId c = matmul(g, a, b);
  g.outputs = {c, g.add(Op::transpose, {c}, {{Attr::permutation, Ints{1, 0}}})};
  EXPECT_EQ(count(simplify(g), Op::dot_general), 1);
}

TEST(Dot, BatchAxesMoveToTheFront) {
  Graph g;
  const ValueId a = g.add_input({{4, 6, 8}, DType::f32}), b = g.add_input({{8, 5, 6}, DType::f32});
  g.outputs = {dot(g, a, b, {1}, {2}, {2}, {0})};  // batch 6, contract 8
  const Graph simple = simplify(g);
  EXPECT_EQ(only_form(simple).batch, 6);
  EXPECT_EQ(only_form(simple).k, 8);
  EXPECT_EQ(simple.aval(simple.outputs[0]).shape, (Shape{6, 4, 5}));
  verify(simple);
}

TEST(Dot, SeveralContractedAxesAreOne) {
  Graph g;
  const ValueId x = g.add_input({{4, 50, 8}, DType::f32}), dy = g.add_input({{4, 50, 3}, DType::f32});
  g.outputs = {dot(g, x, dy, {}, {}, {0, 1}, {0, 1})};
  const Graph simple = simplify(g);
  EXPECT_EQ(only_form(simple), (DotForm{1, 8, 3, 200, true, false, DType::f32}));
  EXPECT_EQ(count(simple, Op::transpose), 0) << print(simple);
}

TEST(Dot, HalvesMultiplyInF32AndRoundOnce) {
  Graph g;
  const ValueId a = g.add_input({{7, 5}, DType::bf16}), b = g.add_input({{5, 3}, DType::bf16});
  g.outputs = {matmul(g, a, b)};
  const Graph simple = simplify(g);
  EXPECT_EQ(only_form(simple).dtype, DType::f32);
  EXPECT_EQ(count(simple, Op::convert), 3);
  EXPECT_EQ(simple.aval(simple.outputs[0]).dtype, DType::bf16);
}

Target tensor_cores() { return {.gpu = true, .half_products = true, .bf16_products = true}; }

TEST(Dot, HalvesStayHalvesWhereTheTargetMultipliesThem) {
  for (const auto& [half, transposed] :
       {std::pair{DType::f16, false}, {DType::f16, true}, {DType::bf16, false}, {DType::bf16, true}}) {
    Graph g;
    const ValueId a = g.add_input({transposed ? Shape{48, 64} : Shape{64, 48}, half});
    const ValueId b = g.add_input({{48, 32}, half});
    g.outputs = {dot(g, a, b, {}, {}, {transposed ? 0 : 1}, {0})};
    const Graph narrow = narrow_dots(simplify(g), tensor_cores());
    DotForm form{1, 64, 32, 48, transposed, false, half};
    form.of_bf16 = half == DType::bf16;
    EXPECT_EQ(only_form(narrow), form);
    EXPECT_EQ(count(narrow, Op::convert), 0) << print(narrow);
    EXPECT_EQ(narrow.aval(narrow.outputs[0]), g.aval(g.outputs[0]));
    EXPECT_EQ(only_form(simplify(narrow)).dtype, DType::f32) << "as any other product of halves";

    PlanOptions options;
    options.target = tensor_cores();
    const PlanData plan = make_plan(g, options);
    EXPECT_EQ(plan.steps.size(), 1u);
    EXPECT_EQ(plan.arena_bytes, 0u) << to_text(plan);
    (half == DType::f16 ? options.target.half_products : options.target.bf16_products) = false;
    EXPECT_GE(make_plan(g, options).arena_bytes, 4u * (64 * 48 + 48 * 32));
  }
}

TEST(Dot, HalvesAreConvertedWhereTheyArePacked) {
  for (const DType half : {DType::f16, DType::bf16}) {
    for (const bool transposed : {false, true}) {
      Graph g;
      const ValueId a = g.add_input({transposed ? Shape{48, 64} : Shape{64, 48}, half});
      const ValueId b = g.add_input({{48, 32}, DType::f32});
      g.outputs = {dot(g, convert(g, a, DType::f32), b, {}, {}, {transposed ? 0 : 1}, {0})};
      const Graph simple = simplify(g), narrow = read_narrow(simple);
      verify(narrow);
      EXPECT_EQ(count(narrow, Op::convert), 0) << print(narrow);
      DotForm form{1, 64, 32, 48, transposed, false, DType::f32};
      form.lhs_narrow = half == DType::f16 ? Narrow::f16 : Narrow::bf16;
      EXPECT_EQ(only_form(narrow), form);
      EXPECT_EQ(simplify(narrow), narrow) << "it stays so";
      const PlanData plan = make_plan(g, {});
      EXPECT_EQ(plan.steps.size(), 1u);
      EXPECT_EQ(plan.arena_bytes, dot_scratch_bytes(form)) << to_text(plan);
    }
  }
}

TEST(Dot, BytesAreMultipliedInF32WhereThatIsExact) {
  const auto is_exact = [](DType lhs, DType rhs, int64_t k, int64_t m = 20) {
    Graph g;
    const ValueId a = g.add_input({{m, k}, lhs}), b = g.add_input({{k, 30}, rhs});
    g.outputs = {matmul(g, convert(g, a, DType::i32), convert(g, b, DType::i32))};
    const Graph made = exact_products(g);
    verify(made);
    EXPECT_EQ(made.aval(made.outputs[0]), g.aval(g.outputs[0]));
    if (made == g) return false;
    const Graph narrow = read_narrow(simplify(made));
    DotForm form{1, m, 30, k};
    form.lhs_narrow = lhs == DType::i8 ? Narrow::i8 : Narrow::u8;
    form.rhs_narrow = rhs == DType::i8 ? Narrow::i8 : Narrow::u8;
    EXPECT_EQ(only_form(narrow), form);
    EXPECT_EQ(count(narrow, Op::convert), 1) << "of the result alone: " << print(narrow);
    return true;
  };
  EXPECT_TRUE(is_exact(DType::i8, DType::i8, 1024));
  EXPECT_FALSE(is_exact(DType::i8, DType::i8, 1025));
  EXPECT_TRUE(is_exact(DType::u8, DType::u8, 258));
  EXPECT_FALSE(is_exact(DType::u8, DType::u8, 259));
  EXPECT_TRUE(is_exact(DType::i8, DType::u8, 514));
  EXPECT_FALSE(is_exact(DType::i8, DType::u8, 515));
  EXPECT_FALSE(is_exact(DType::i16, DType::i8, 10));
  EXPECT_FALSE(is_exact(DType::i8, DType::i8, 100, 3)) << "sums that fuse";
}

TEST(Dot, ProductsOfBf16KnowThatTheyAre) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    Graph g;
    const ValueId product = matmul(g, g.add_input({{64, 48}, dtype}), g.add_input({{48, 32}, dtype}));
    g.outputs = {g.add(Op::transpose, {product}, {{Attr::permutation, tracing::Ints{1, 0}}})};
    for (const auto level : {Builder::Level::light, Builder::Level::full}) {
      const Graph simple = simplify(g, level);
      EXPECT_EQ(only_form(simple).of_bf16, dtype == DType::bf16) << "also where it is computed transposed";
      EXPECT_EQ(only_form(read_narrow(simple)).of_bf16, dtype == DType::bf16);
    }
  }
}

TEST(Dot, OtherProductsAreNotNarrowed) {
  const auto stays = [](DType dtype, int64_t m, bool reads_f32, const Target& target = tensor_cores()) {
    Graph g;
    const ValueId a = g.add_input({{m, 48}, dtype}), b = g.add_input({{48, 32}, dtype});
    if (reads_f32) {
      const ValueId wide = g.add(Op::convert, {a}, {{Attr::dtype, DType::f32}});
      g.outputs = {matmul(g, wide, g.add(Op::convert, {b}, {{Attr::dtype, DType::f32}}))};
    } else {
      g.outputs = {matmul(g, a, b)};
    }
    const Graph simple = simplify(g);
    return narrow_dots(simple, target) == simple;
  };
  EXPECT_FALSE(stays(DType::f16, 16, false));
  EXPECT_TRUE(stays(DType::f16, 15, false)) << "too small";
  EXPECT_TRUE(stays(DType::f16, 16, true)) << "the result is not rounded";
  EXPECT_FALSE(stays(DType::bf16, 16, false));
  EXPECT_TRUE(stays(DType::bf16, 16, false, {.gpu = true, .half_products = true}));
  EXPECT_TRUE(stays(DType::f16, 16, false, {.gpu = true, .bf16_products = true}));
  EXPECT_TRUE(stays(DType::f32, 16, false));
}

TEST(Dot, RefusesExtentsThatAreTooLargeForAGpu) {
  const auto plan = [](int64_t rows, bool gpu) {
    Graph g;
    g.outputs = {matmul(g, g.add_input({{rows, 3}, DType::f32}), g.add_input({{3, 2}, DType::f32}))};
    PlanOptions options;
    options.target.gpu = gpu;
    return make_plan(g, options).steps.size();
  };
  const int64_t most = (int64_t{1} << 31) - 1;
  EXPECT_EQ(plan(most, true), 1u);
  EXPECT_EQ(plan(most + 1, false), 1u);
  EXPECT_THROW(plan(most + 1, true), UserError);
}

TEST(Dot, TinyOnesAreTerms) {
  for (const auto& [m, n, k, tiny] :
       {std::tuple{3, 3, 3, true}, {4, 4, 4, true}, {2, 8, 3, true}, {4, 5, 4, false}, {3, 3, 5, false}}) {
    Graph g;
    const ValueId a = g.add_input({{m, k}, DType::f32}), b = g.add_input({{k, n}, DType::f32});
    g.outputs = {matmul(g, a, b)};
    const Graph simple = simplify(g);
    EXPECT_EQ(count(simple, Op::dot_general), tiny ? 0 : 1) << print(simple);
    EXPECT_EQ(count(simple, Op::fma), tiny ? k : 0) << print(simple);
  }
  Graph several;
  const ValueId a = several.add_input({{2, 3, 3}, DType::f32}), b = several.add_input({{2, 3, 3}, DType::f32});
  several.outputs = {dot(several, a, b, {0}, {0}, {2}, {1})};
  EXPECT_EQ(count(simplify(several), Op::dot_general), 1);
}

TEST(Dot, ATransposeTimesANumberIsReadAsItLiesByVectors) {
  for (const bool vector : {true, false}) {
    Graph g;
    const ValueId x = g.add_input({{90, 50}, DType::f32}), r = g.add_input({{90, vector ? 1 : 20}, DType::f32});
    const ValueId turned = g.add(Op::transpose, {x}, {{Attr::permutation, Ints{1, 0}}});
    const ValueId half = g.constant(0.5, DType::f32, {50, 90});
    g.outputs = {matmul(g, g.add(Op::multiply, {half, turned}), r)};
    const Graph simple = simplify(g);
    EXPECT_EQ(count(simple, Op::transpose), vector ? 0 : 1) << print(simple);
  }
  // What takes longer, and what else is not a transpose, is computed once.
  Graph g;
  const ValueId x = g.add_input({{90, 50}, DType::f32}), r = g.add_input({{90, 1}, DType::f32});
  const ValueId exps = g.add(Op::exp, {g.add(Op::transpose, {x}, {{Attr::permutation, Ints{1, 0}}})});
  g.outputs = {exps, matmul(g, exps, r)};
  EXPECT_EQ(count(simplify(g), Op::exp), 1);
}

TEST(Dot, ShortSumsOfProductsAreInTheirDtype) {
  for (const bool vector_first : {false, true}) {
    for (const auto& [k, dtype, is_short] : {std::tuple{2048, DType::f32, true},
                                             {2049, DType::f32, false},
                                             {100, DType::f64, false},
                                             {100, DType::i32, false}}) {
      Graph g;
      const ValueId a = g.add_input({{vector_first ? 1 : 70, k}, dtype});
      const ValueId b = g.add_input({{k, vector_first ? 70 : 1}, dtype});
      g.outputs = {matmul(g, a, b)};
      EXPECT_EQ(count(simplify(g), Op::reduce_sum), 1);
      const Graph simple = simplify(mark_short_products(g));
      int sums = 0;
      for (const tracing::Node& node : simple.nodes) {
        if (node.op != Op::reduce_sum) continue;
        ++sums;
        EXPECT_EQ(has_mark(node, Mark::short_product), is_short) << print(simple);
        EXPECT_EQ(accumulator_of(simple, node), dtype == DType::f32 && !is_short ? DType::f64 : dtype);
        EXPECT_EQ(adds_in_order(simple, node), is_short && vector_first);
        const int64_t axis = node.attrs.ints(Attr::axes)[0];
        EXPECT_TRUE(can_sum_partially(simple, node, 0, axis));
        EXPECT_EQ(partial_sum_of(simple, node, {axis}).dtype, is_short && vector_first ? DType::f32
                                                              : dtype == DType::i32    ? dtype
                                                                                       : DType::f64);
      }
      EXPECT_EQ(sums, 1) << print(simple);
    }
  }
  Graph matrices;
  const ValueId a = matrices.add_input({{70, 20}, DType::f32}), b = matrices.add_input({{20, 30}, DType::f32});
  matrices.outputs = {matmul(matrices, a, b)};
  EXPECT_EQ(print(mark_short_products(matrices)), print(matrices));
}

TEST(Dot, IntegersAndVectorsFuse) {
  for (const auto& [m, n, dtype] :
       {std::tuple{7, 3, DType::i32}, {1, 3, DType::f32}, {7, 1, DType::f32}, {1, 1, DType::f64}}) {
    Graph g;
    const ValueId a = g.add_input({{m, 5}, dtype}), b = g.add_input({{5, n}, dtype});
    g.outputs = {matmul(g, a, b)};
    const Graph simple = simplify(g);
    EXPECT_EQ(count(simple, Op::dot_general), 0);
    EXPECT_EQ(count(simple, Op::reduce_sum), 1) << print(simple);
    EXPECT_EQ(simple.aval(simple.outputs[0]), g.aval(g.outputs[0]));
  }
  Graph outer;
  const ValueId a = outer.add_input({{7, 1}, DType::f32}), b = outer.add_input({{1, 3}, DType::f32});
  outer.outputs = {matmul(outer, a, b)};
  const Graph simple = simplify(outer);
  EXPECT_EQ(count(simple, Op::dot_general) + count(simple, Op::reduce_sum), 0) << print(simple);
}

}  // namespace
}  // namespace neap::planner
