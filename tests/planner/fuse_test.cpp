// What is stored and what is not.
#include "planner/fuse/fuse.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"

namespace neap::planner {
namespace {

size_t intermediates(const PlanData& plan) {
  size_t bytes = 0;
  for (const PlanBuffer& b : plan.buffers) bytes += b.storage == Storage::intermediate ? b.bytes : 0;
  return bytes;
}

TEST(Fuse, AChainIsOneStep) {
  Graph g;
  ValueId x = g.add_input({{1000, 1000}, DType::f32});
  for (const Op op : {Op::sin, Op::exp, Op::tanh, Op::log1p, Op::erf}) x = g.add(op, {x});
  g.outputs = {x};
  EXPECT_EQ(make_plan(g, {}).steps.size(), 1u);
}

TEST(Fuse, ValueAndGreeksShareTheirRandomNumbers) {
  Graph g;
  const ValueId key = g.add_input({{2}, DType::u32});
  const ValueId z = normal(g, key, {100'000'000}, DType::f32);
  g.outputs = {reduce_sum(g, z, {0}), reduce_sum(g, g.add(Op::exp, {z}), {0}),
               reduce_sum(g, g.add(Op::multiply, {z, z}), {0})};
  const PlanData plan = make_plan(g, {});
  ASSERT_EQ(plan.steps.size(), 1u) << to_text(plan);
  EXPECT_EQ(plan.steps[0].writes.size(), 3u);
  EXPECT_LT(plan.peak_bytes, 8192u);
}

// Each of several readers computes it once, but at places of their own: once for each of them in one kernel. In one
// place they share it.
TEST(Fuse, WhatIsComputedAtManyPlacesIsStored) {
  const auto steps = [](bool at_many) {
    Graph g;
    constexpr int64_t n = 1 << 20;
    const ValueId x = g.add_input({{n + 8}, DType::f32});
    const ValueId dear = g.add(Op::sin, {g.add(Op::exp, {g.add(Op::sin, {x})})});
    ValueId sum = tracing::no_value;
    for (int64_t i = 0; i < 8; ++i) {
      const ValueId reader = g.add(Op::multiply, {dear, g.constant(static_cast<double>(i), DType::f32, {n + 8})});
      const int64_t at = at_many ? i : 0;
      const ValueId part =
          g.add(Op::slice, {reader}, {{Attr::start, Ints{at}}, {Attr::limit, Ints{at + n}}, {Attr::stride, Ints{1}}});
      sum = i == 0 ? part : g.add(Op::add, {sum, part});
    }
    g.outputs = {sum};
    return make_plan(g, {}).steps.size();
  };
  EXPECT_EQ(steps(true), 2u);
  EXPECT_EQ(steps(false), 1u);
}

// A derivative's condition, read again long after what it is of has died.
TEST(Fuse, ConditionsAreKeptRatherThanTheirOperands) {
  Graph g;
  const Shape shape{256, 256};
  const ValueId w = g.add_input({shape, DType::f32});
  const ValueId a = matmul(g, g.add_input({shape, DType::f32}), w), zero = g.constant(0, DType::f32, shape);
  const ValueId off = g.add(Op::less_equal, {a, zero});
  ValueId x = g.add(Op::select, {off, zero, a});
  for (int i = 0; i < 4; ++i) x = matmul(g, g.add(Op::sin, {x}), w);
  g.outputs = {g.add(Op::select, {off, zero, x})};
  PlanOptions naive;
  naive.naive = true;
  const PlanData plan = make_plan(g, {});
  EXPECT_LE(plan.peak_bytes, make_plan(g, naive).peak_bytes) << to_text(plan);
  bool kept = false;
  for (const PlanBuffer& b : plan.buffers) kept |= b.storage == Storage::intermediate && b.aval.dtype == DType::bool_;
  EXPECT_TRUE(kept) << to_text(plan);
}

// A convolution as a sum of products: two of them live at a time, and one where the backward pass reads it again.
TEST(Fuse, SumsOfProductsAreKeptRatherThanTheProducts) {
  Graph g;
  const Shape shape{256, 256};
  const size_t bytes = 256 * 256 * sizeof(float);
  const ValueId w = g.add_input({shape, DType::f32});
  ValueId x = g.add_input({shape, DType::f32});
  std::vector<ValueId> sums;
  for (int layer = 0; layer < 3; ++layer) {
    ValueId sum = tracing::no_value;
    for (int i = 0; i < 9; ++i) {
      const ValueId product = matmul(g, x, i % 2 ? w : g.add(Op::sin, {w}));
      sum = i == 0 ? product : g.add(Op::add, {sum, matmul(g, product, w)});
    }
    sums.push_back(sum);
    x = g.add(Op::tanh, {sum});
  }
  for (int layer = 3; layer-- > 0;) x = matmul(g, g.add(Op::multiply, {x, g.add(Op::cos, {sums[layer]})}), w);
  g.outputs = {x};
  const PlanData plan = make_plan(g, {});
  EXPECT_LE(plan.peak_bytes, plan.naive_peak_bytes);
  EXPECT_LE(plan.peak_bytes - 2 * bytes, 8 * bytes) << to_text(plan);
}

TEST(Fuse, ReductionsThatNeedEachOtherAreSeparate) {
  Graph g;
  const ValueId x = g.add_input({{100, 1000}, DType::f32});
  const ValueId most = g.add(Op::reduce_max, {x}, {{Attr::axes, Ints{1}}});
  const ValueId e = g.add(Op::exp, {g.add(Op::subtract, {x, broadcast(g, most, {100, 1000}, {0})})});
  g.outputs = {g.add(Op::divide, {e, broadcast(g, reduce_sum(g, e, {1}), {100, 1000}, {0})})};
  const PlanData plan = make_plan(g, {.strategy = Strategy::fused});
  EXPECT_EQ(plan.steps.size(), 4u) << to_text(plan);
  EXPECT_EQ(intermediates(plan), 2 * 448u + 400000u);  // the rows' maximum and sum; e lies where the quotient will
  EXPECT_EQ(plan.peak_bytes, 2 * 400000u + 448u);
}

TEST(Fuse, ReductionsOfDifferentArraysAreNotHeldTogether) {
  Graph g;
  const ValueId w = g.add_input({{64, 64}, DType::f32});
  ValueId x = g.add_input({{64, 64}, DType::f32});
  for (int i = 0; i < 8; ++i) {
    x = matmul(g, x, w);
    g.outputs.push_back(reduce_sum(g, x, {0, 1}));
  }
  const PlanData plan = make_plan(g, {});
  size_t products = 0;
  for (const PlanBuffer& b : plan.buffers) products += b.storage == Storage::intermediate ? 1 : 0;
  EXPECT_EQ(products, 8u);
  EXPECT_LE(plan.arena_bytes, 3 * 16384u + 65536u) << to_text(plan);
}

// Two readers that no kernel can share: reductions along different axes.
Graph two_readers(ValueId (*make)(Graph&)) {
  Graph g;
  const ValueId y = make(g);
  g.outputs = {reduce_sum(g, y, {0}), g.add(Op::reduce_max, {y}, {{Attr::axes, Ints{1}}})};
  return g;
}

TEST(Fuse, ACheapProducerIsComputedTwiceADearOneKept) {
  const PlanData cheap = make_plan(two_readers([](Graph& g) {
                                     const ValueId x = g.add_input({{1024, 1024}, DType::f32});
                                     return g.add(Op::multiply, {x, x});
                                   }),
                                   {});
  EXPECT_EQ(intermediates(cheap), 0u) << to_text(cheap);
  const PlanData dear = make_plan(two_readers([](Graph& g) {
                                    ValueId x = g.add_input({{1024, 1024}, DType::f32});
                                    for (int i = 0; i < 6; ++i) x = g.add(Op::erf_inv, {g.add(Op::tanh, {x})});
                                    return x;
                                  }),
                                  {});
  EXPECT_EQ(intermediates(dear), size_t{1024} * 1024 * 4) << to_text(dear);
  bool kept = false;
  for (const Decision& d : dear.decisions) kept |= d.chosen == "keep" && d.alternatives.size() == 2;
  EXPECT_TRUE(kept);
}

// Two steps that go through rows find them in the cache: what is dear to compute again is kept for them, as it is for
// more work where one of the two reads columns.
TEST(Fuse, ADearValueIsKeptForTheSumsOfItsRows) {
  const auto steps = [](int64_t axis) {
    Graph g;
    const Shape shape{4096, 4096};
    const ValueId x = g.add_input({shape, DType::f32}), dear = g.add(Op::exp, {x});
    const ValueId sums = broadcast(g, reduce_sum(g, dear, {axis}), shape, {1 - axis});
    g.outputs = {g.add(Op::divide, {dear, sums})};
    return make_plan(g, {}).steps.size();
  };
  EXPECT_EQ(steps(1), 3u);
  EXPECT_EQ(steps(0), 2u);
}

TEST(Fuse, RandomNumbersAreDrawnAgain) {
  const PlanData plan = make_plan(
      two_readers([](Graph& g) { return normal(g, g.add_input({{2}, DType::u32}), {2048, 2048}, DType::f32); }), {});
  EXPECT_EQ(intermediates(plan), 0u) << to_text(plan);
  bool recomputed = false;
  for (const Decision& d : plan.decisions) recomputed |= d.what.starts_with("random_bits") && d.chosen == "recompute";
  EXPECT_TRUE(recomputed);
}

TEST(Fuse, DearRowValuesAreComputedOncePerRow) {
  Graph g;
  const ValueId x = g.add_input({{4096, 4096}, DType::f32}), row = g.add_input({{4096}, DType::f32});
  const ValueId scale = g.add(Op::exp, {row});
  g.outputs = {g.add(Op::multiply, {x, broadcast(g, scale, {4096, 4096}, {1})})};
  const PlanData plan = make_plan(g, {});
  EXPECT_EQ(intermediates(plan), 4096u * 4) << to_text(plan);
}

TEST(Fuse, ManyKeysAreNotStored) {
  Graph g;
  const ValueId key = g.add_input({{2}, DType::u32});
  const ValueId keys = g.add(Op::random_split, {key}, {{Attr::shape, Ints{1'000'000}}});
  g.outputs = {reduce_sum(g, normal(g, keys, {100}, DType::f32), {1})};
  const PlanData plan = make_plan(g, {});
  EXPECT_EQ(intermediates(plan), 0u) << to_text(plan);
}

TEST(Fuse, ATableIsNotComputedForEachIndex) {
  Graph g;
  const ValueId x = g.add_input({{4096}, DType::f32}), idx = g.add_input({{1 << 22, 1}, DType::i32});
  const Attrs attrs{{Attr::axes, Ints{0}}, {Attr::mode, int64_t{0}}};
  g.outputs = {reduce_sum(g, g.add(Op::gather, {g.add(Op::tan, {x}), idx}, attrs), {0})};
  EXPECT_EQ(intermediates(make_plan(g, {})), 4096u * 4);
  Graph few;
  const ValueId table = few.add_input({{1 << 22}, DType::f32}), some = few.add_input({{100, 1}, DType::i32});
  few.outputs = {few.add(Op::gather, {few.add(Op::tan, {table}), some}, attrs)};
  EXPECT_EQ(intermediates(make_plan(few, {})), 0u);
}

TEST(Fuse, ReshapesAreViews) {
  Graph g;
  const ValueId x = g.add_input({{6, 4}, DType::f32});
  const ValueId y = g.add(Op::sin, {x});
  g.outputs = {y, reshape(g, y, {24}), reshape(g, x, {24})};
  const PlanData plan = make_plan(g, {});
  EXPECT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.outputs[0], plan.outputs[1]);
  EXPECT_EQ(plan.outputs[2], plan.inputs[0]);
  EXPECT_EQ(plan.output_avals[1].shape, Shape{24});
}

// {q, r} is one step and r needs s, so that t, which needs q, cannot be made with s.
TEST(Fuse, StepsThatMergedDoNotBecomeACircle) {
  Graph g;
  const ValueId x = g.add_input({{8}, DType::f32}), y = g.add_input({{2, 8}, DType::f32});
  const ValueId q = g.add(Op::exp, {x});
  const ValueId p = broadcast(g, g.add(Op::multiply, {q, splat(g, 2, DType::f32, {8})}), {2, 8}, {1});
  const ValueId s = reduce_sum(g, y, {0, 1});
  const ValueId r = g.add(Op::add, {x, broadcast(g, s, {8}, {})});
  const ValueId t = reduce_sum(g, g.add(Op::multiply, {y, p}), {0, 1});
  g.outputs = {q, r, t};
  EXPECT_EQ(make_plan(g, {}).steps.size(), 3u);
}

size_t largest_step(const PlanData& plan) {
  size_t nodes = 0;
  for (const PlanStep& step : plan.steps) nodes = std::max(nodes, step.group.nodes.size());
  return nodes;
}

// Each level reads the one below at two places, as a tree of joins does: a kernel of eight levels would hold the first
// 256 times.
TEST(Fuse, AKernelHoldsAValueOnceForEachPlace) {
  Graph g;
  ValueId x = g.add_input({{1 << 14, 16}, DType::f32});
  const auto every_other = [&](ValueId v, int64_t first) {
    const Shape shape = g.aval(v).shape;
    return g.add(Op::slice, {v},
                 {{Attr::start, Ints{first, 0}}, {Attr::limit, Ints{shape[0], shape[1]}}, {Attr::stride, Ints{2, 1}}});
  };
  for (int level = 0; level < 12; ++level) x = g.add(Op::multiply, {every_other(x, 0), every_other(x, 1)});
  g.outputs = {x};
  const PlanData plan = make_plan(g, {});
  for (const PlanStep& step : plan.steps) EXPECT_LE(step.group.nodes.size(), 30u) << to_text(plan);
}

TEST(Fuse, KernelsStaySmall) {
  Graph wide;
  for (int i = 0; i < 3000; ++i) wide.outputs.push_back(wide.add(Op::exp, {wide.add_input({{4}, DType::f32})}));
  EXPECT_LE(largest_step(make_plan(wide, {})), 600u);

  // The norm of many gradients scales each of them: it is computed once.
  Graph g;
  std::vector<ValueId> gradients;
  ValueId norm = splat(g, 0, DType::f32, {});
  for (int i = 0; i < 300; ++i) {
    gradients.push_back(g.add_input({{1000 + i}, DType::f32}));
    norm = g.add(Op::add, {norm, reduce_sum(g, g.add(Op::multiply, {gradients[i], gradients[i]}), {0})});
  }
  for (const ValueId v : gradients) {
    g.outputs.push_back(g.add(Op::multiply, {v, broadcast(g, norm, g.aval(v).shape, {})}));
  }
  const PlanData plan = make_plan(g, {});
  for (const PlanStep& step : plan.steps) {
    const bool scales = step.group.aval(step.group.outputs[0]).size() >= 1000;
    EXPECT_TRUE(!scales || step.group.nodes.size() < 10) << to_text(plan);
  }
}

}  // namespace
}  // namespace neap::planner
