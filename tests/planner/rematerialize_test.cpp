// Values that wait are made again from a few that are kept.
#include "planner/search/rematerialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/callback.h>
#include <neap/neap.h>

#include <cmath>
#include <utility>

#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "planner/rewrite/simplify.h"
#include "tests/count.h"
#include "trace/graph/op_table.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {
namespace {

using namespace tracing;

// The gradient of n layers h = tanh(h @ w), or h += tanh(h @ w), all of one size, in activations of `rows` x 64.
constexpr int64_t kRows = 4096;
constexpr double kActivation = kRows * 64 * 4;

template <class Layer>
auto gradient(int n, Layer layer) {
  return grad([n, layer](const Array& w, const Array& x) {
    Array h = x;
    for (int i = 0; i < n; ++i) h = layer(h, w);
    return sum(h * h);
  });
}

int products(const Plan& plan) {
  return static_cast<int>(std::ranges::count(plan.data().steps, PlanStep::Kind::dot, &PlanStep::kind));
}

template <class Layer>
void check_square_root(int n, Layer layer) {
  SCOPED_TRACE(n);
  const auto f = gradient(n, layer);
  const auto w = spec({64, 64}, f32), x = spec({kRows, 64}, f32);
  const Plan free = jit(f, {.strategy = "fused"}).plan(w, x);  // keeps all that waits
  EXPECT_GE(static_cast<double>(free.peak_bytes()), n * kActivation);
  const double fixed = 4;  // argument, the layer's own temporaries
  const double activations = 2 * std::sqrt(n) * (static_cast<double>(free.peak_bytes()) / kActivation - fixed) / n;
  const auto budget = static_cast<size_t>((activations + fixed) * kActivation);
  const Plan lean = jit(f, {.memory_budget = budget}).plan(w, x);
  EXPECT_LE(lean.peak_bytes(), budget);
  EXPECT_LE(products(lean), products(free) + n);  // one forward pass
  // Slices of the batch, where there are any, do without one.
  EXPECT_THAT(lean.strategies(), testing::AnyOf(testing::Contains("recompute"), testing::Contains("chunked")));
}

TEST(Rematerialize, LayersFitInTheSquareRoot) {
  const auto plain = [](const Array& h, const Array& w) { return tanh(matmul(h, w)); };
  const auto residual = [](const Array& h, const Array& w) { return h + tanh(matmul(h, w)); };
  for (const int n : {16, 49}) {
    check_square_root(n, plain);
    check_square_root(n, residual);
  }
}

// One block of a transformer, in a sequence of kLength.
constexpr int64_t kLength = 512, kWidth = 64, kHeads = 4;
constexpr int kBlockProducts = 8;

struct Block {
  Array q, k, v, o, up, down, gain;
};
Block block_spec() {
  const auto matrix = [](int64_t rows, int64_t columns) { return spec({rows, columns}, f32); };
  return {matrix(kWidth, kWidth),     matrix(kWidth, kWidth),     matrix(kWidth, kWidth), matrix(kWidth, kWidth),
          matrix(kWidth, 4 * kWidth), matrix(4 * kWidth, kWidth), spec({kWidth}, f32)};
}

Array normalised(const Array& x, const Array& gain) {
  const Array d = x - mean(x, -1, true);
  return d * gain / sqrt(mean(d * d, -1, true) + 1e-5f);
}

Array run_block(const Block& b, const Array& x) {
  const auto heads = [](const Array& y) { return swapaxes(reshape(y, {kLength, kHeads, kWidth / kHeads}), 0, 1); };
  const Array y = normalised(x, b.gain);
  const Array scores = matmul(heads(matmul(y, b.q)), swapaxes(heads(matmul(y, b.k)), 1, 2));
  const Array mixed = matmul(softmax(scores / 4.0f), heads(matmul(y, b.v)));
  const Array h = x + matmul(reshape(swapaxes(mixed, 0, 1), {kLength, kWidth}), b.o);
  return h + matmul(gelu(matmul(normalised(h, b.gain), b.up)), b.down);
}

auto transformer_gradient() {
  return grad([](const std::vector<Block>& blocks, const Array& x) {
    Array h = x;
    for (const Block& b : blocks) h = run_block(b, h);
    return sum(h * h);
  });
}

// Without a budget it keeps all that waits.
Plan plan_transformer(int n, std::optional<size_t> budget) {
  JitOptions options{.memory_budget = budget};
  if (!budget) options.strategy = "fused";
  return jit(transformer_gradient(), options).plan(std::vector<Block>(n, block_spec()), spec({kLength, kWidth}, f32));
}

// What each block adds is what must wait for its gradient; in the square root of them, one more forward pass.
TEST(Rematerialize, TransformersFitInTheSquareRoot) {
  const auto bytes = [](const Plan& plan) { return static_cast<double>(plan.peak_bytes()); };
  const double parameters = 2.0 * (4 * kWidth * kWidth + 8 * kWidth * kWidth + kWidth) * 4;  // and their gradients
  const double one = bytes(plan_transformer(1, {}));
  for (const int n : {4, 16}) {
    SCOPED_TRACE(n);
    const Plan free = plan_transformer(n, {});
    const double activation = (bytes(free) - one) / (n - 1) - parameters;
    const auto budget = static_cast<size_t>(one + n * parameters + 2 * std::sqrt(n) * activation);
    const Plan lean = plan_transformer(n, budget);
    EXPECT_LE(lean.peak_bytes(), budget);
    EXPECT_LE(products(lean), products(free) + n * kBlockProducts);
    // Of whole blocks only their input is kept: much less than the square root.
    const auto few = static_cast<size_t>(one + n * parameters + 2 * activation);
    EXPECT_LE(plan_transformer(n, few).peak_bytes(), few);
  }
}

// Long skips: what the way down keeps for the way up is kept, all else computed again.
Plan plan_unet(std::optional<size_t> budget) {
  constexpr int kLevels = 4;
  const auto network = [](const std::vector<Array>& down, const std::vector<Array>& up, const Array& input) {
    Array x = input;
    std::vector<Array> skips;
    for (const Array& w : down) {
      for (int i = 0; i < 4; ++i) x = tanh(matmul(x, w));
      skips.push_back(x);
      x = mean(reshape(x, {x.shape()[0] / 2, 2, 64}), 1);
    }
    for (size_t level = up.size(); level-- > 0;) {
      const int64_t rows = x.shape()[0];
      x = reshape(broadcast_to(expand_dims(x, 1), {rows, 2, 64}), {rows * 2, 64});
      x = tanh(matmul(concatenate({x, skips[level]}, 1), up[level]));
      for (int i = 0; i < 3; ++i) x = tanh(matmul(x, down[level]));
    }
    return sum(x * x);
  };
  const JitOptions options{.memory_budget = budget};
  return jit(grad<0, 1>(network), options)
      .plan(std::vector<Array>(kLevels, spec({64, 64}, f32)), std::vector<Array>(kLevels, spec({128, 64}, f32)),
            spec({kRows, 64}, f32));
}

TEST(Rematerialize, UNetsKeepTheirSkips) {
  const Plan free = plan_unet({});
  EXPECT_GT(static_cast<double>(free.peak_bytes()), 14 * kActivation);
  const auto budget = static_cast<size_t>(10 * kActivation);
  const Plan lean = plan_unet(budget);
  EXPECT_LE(lean.peak_bytes(), budget);
  EXPECT_LE(products(lean), products(free) + 4 * 8);  // one forward pass
}

constexpr size_t kSmallMask = 64 * 1024;

// Whether the plan, or that of a loop's body, stores random bits or what is only as large as a mask of them; but that
// of a slice, which is small enough to be stored in any case (planner/fuse/fuse.cpp).
bool stores_masks(const PlanData& plan) {
  for (const PlanBuffer& buffer : plan.buffers) {
    const bool mask = buffer.aval.dtype == DType::bool_ || buffer.aval.dtype == DType::u32;
    if (buffer.storage == Storage::intermediate && mask && buffer.bytes > kSmallMask) return true;
  }
  return std::ranges::any_of(plan.steps, [](const PlanStep& s) { return s.body && stores_masks(*s.body); });
}

TEST(Rematerialize, RandomMasksAreNeverKept) {
  const auto loss = [](const Array& w, const Array& x, const Array& key) {
    Array h = x;
    for (int i = 0; i < 6; ++i) {
      h = tanh(matmul(h, w));
      h = where(random::bernoulli(random::fold_in(key, i), 0.9f, h.shape()), h / 0.9f, 0.0f);
    }
    return sum(h * h);
  };
  const auto plan = [&](std::optional<size_t> budget) {
    const JitOptions options{.memory_budget = budget};
    return jit(grad(loss), options).plan(spec({64, 64}, f32), spec({kRows, 64}, f32), spec({2}, u32));
  };
  const Plan free = plan({});
  EXPECT_FALSE(stores_masks(free.data())) << free;
  size_t least = 0;
  try {
    plan(1);
  } catch (const BudgetError& e) {
    least = e.smallest_peak_bytes();
  }
  EXPECT_LT(least, free.peak_bytes() * 2 / 3);
  for (int i = 0; i < 5; ++i) {
    const Plan lean = plan(least + (free.peak_bytes() - least) * i / 5);
    EXPECT_FALSE(stores_masks(lean.data())) << lean;
  }
}

// x -> y1 = x @ w -> ... -> yn, then their sum from the last to the first: each waits.
Planned chain(int n) {
  Graph g;
  const ValueId w = g.add_input({{64, 64}, DType::f32});
  ValueId h = g.add_input({{1024, 64}, DType::f32});
  std::vector<ValueId> made;
  const Attrs product{{Attr::lhs_contract, Ints{1}},
                      {Attr::rhs_contract, Ints{0}},
                      {Attr::lhs_batch, Ints{}},
                      {Attr::rhs_batch, Ints{}}};
  for (int i = 0; i < n; ++i) {
    h = g.add(Op::dot_general, {h, w}, product);
    made.push_back(h);
  }
  for (int i = n - 1; i-- > 0;) {
    h = g.add(Op::dot_general, {h, w}, product);
    h = g.add(Op::multiply, {h, made[i]});
  }
  g.outputs = {h};
  return plan_simplified(simplify(g), {}, {});
}

TEST(Rematerialize, WhatWaitsIsFoundInItsOrder) {
  const Planned planned = chain(8);
  const std::vector<ValueId> values = live_across_peak(planned);
  EXPECT_GE(values.size(), 6u);
  EXPECT_LE(values.size(), 8u);
  EXPECT_TRUE(std::ranges::is_sorted(values));
}

// A loop's carry that nobody reads may have no place of its own; what it has stacked waits all the same.
TEST(Rematerialize, ResultsOfALoopAreKeptWhateverBecomesOfTheOthers) {
  const auto f = [&](const std::vector<Array>& in) {
    const auto step = [](const Array& c, const Array& x) { return std::pair{tanh(c + x), sin(c) * x}; };
    const Array stacked = scan(step, in[0], in[1]).second;
    Array h = matmul(stacked, in[2]);
    for (int i = 0; i < 6; ++i) h = tanh(matmul(h, in[2]));
    return std::vector<Array>{sum(h * stacked)};
  };
  const std::vector<Aval> inputs{{{64}, DType::f32}, {{4096, 64}, DType::f32}, {{64, 64}, DType::f32}};
  Planned planned = plan_simplified(simplify(trace_closed(inputs, f)), {}, {});
  const ValueId stacked = live_across_peak(planned).at(0);
  ASSERT_TRUE(planned.graph.is(stacked, Op::scan));
  const ValueId carry = planned.graph.def(stacked)->outputs[0];
  ASSERT_NE(carry, stacked);
  const auto keeps = [&] {
    return std::ranges::any_of(Frontiers(planned).checkpoints(0), [&](ValueId v) {
      return v == stacked || (planned.graph.is(v, Op::reshape) && planned.graph.def(v)->inputs[0] == stacked);
    });
  };
  const int peak_at = peak_step(planned.plan);
  for (PlanBuffer& buffer : planned.plan.buffers) {
    if (buffer.value != carry) continue;
    const int first = std::exchange(buffer.first, peak_at + 1);  // the loop runs after the peak step
    EXPECT_FALSE(keeps());
    buffer.first = first;
    buffer.value = no_value;
  }
  EXPECT_TRUE(keeps());
}

TEST(Rematerialize, EverySecondValueIsKept) {
  const Planned planned = chain(8);
  const std::vector<ValueId> values = live_across_peak(planned);
  const size_t bytes = 1024 * 64 * 4;
  EXPECT_EQ(checkpoints(planned, values, 0), values);
  EXPECT_EQ(checkpoints(planned, values, bytes).size(), values.size() / 2);
  EXPECT_THAT(checkpoints(planned, values, bytes * values.size()), testing::IsEmpty());
}

// A part of what is gained takes little time: the blocks' attention in slices, all alike, and products made again.
TEST(Rematerialize, TransformersHoldLessForLittleTime) {
  const std::vector<Block> blocks(6, block_spec());
  const Array x = spec({kLength, kWidth}, f32);
  const Plan usual = jit(transformer_gradient()).plan(blocks, x);
  for (const double part : {0.8, 0.7}) {
    const auto budget = static_cast<size_t>(part * static_cast<double>(usual.peak_bytes()));
    const Plan lean = jit(transformer_gradient(), {.memory_budget = budget}).plan(blocks, x);
    EXPECT_LE(lean.peak_bytes(), budget);
    EXPECT_LE(lean.data().predicted_seconds, 1.15 * usual.data().predicted_seconds) << part;
  }
}

TEST(Rematerialize, CopiesStayApartFromTheirOriginals) {
  const Planned planned = chain(8);
  const std::vector<ValueId> values = live_across_peak(planned), kept = checkpoints(planned, values, 1024 * 64 * 4);
  const Graph again = simplify(rematerialize_from(planned, kept));
  EXPECT_EQ(count(again, Op::dot_general),
            count(planned.graph, Op::dot_general) + static_cast<int>(values.size() - kept.size()));
  EXPECT_EQ(std::ranges::count_if(again.nodes, [](const Node& node) { return is_copy(node); }),
            static_cast<std::ptrdiff_t>(values.size() - kept.size()));
  EXPECT_LT(plan_simplified(again, {}, {}).plan.peak_bytes, planned.plan.peak_bytes);
}

// Also where they are copies of what only moves elements: a shared slice would wait from the one reader to the other.
TEST(Rematerialize, CopiesOfSlicesStayApart) {
  Graph g;
  const ValueId x = g.add_input({{66, 64}, DType::f32});
  const ValueId cut =
      g.add(Op::slice, {x}, {{Attr::start, Ints{1, 0}}, {Attr::limit, Ints{65, 64}}, {Attr::stride, Ints{1, 1}}});
  const ValueId again = g.add(
      Op::slice, {x},
      {{Attr::start, Ints{1, 0}}, {Attr::limit, Ints{65, 64}}, {Attr::stride, Ints{1, 1}}, {Attr::copy, int64_t{1}}});
  g.outputs = {g.add(Op::dot_general, {cut, again},
                     {{Attr::lhs_batch, Ints{}},
                      {Attr::rhs_batch, Ints{}},
                      {Attr::lhs_contract, Ints{1}},
                      {Attr::rhs_contract, Ints{0}}})};
  EXPECT_EQ(count(simplify(g), Op::slice), 2);
  EXPECT_EQ(simplify(simplify(g)), simplify(g));
}

TEST(Rematerialize, NothingChangesWhereAllIsKept) {
  const Planned planned = chain(5);
  EXPECT_EQ(simplify(rematerialize_from(planned, live_across_peak(planned))).nodes.size(), planned.graph.nodes.size());
}

// What is joined from parts is there when the last is: nothing of the way back comes before the peak for the sake of
// the first.
TEST(Rematerialize, PartsThatAreThereEarlyMakeNoneOfTheOthers) {
  const auto f = [](const std::vector<Array>& in) {
    const Array& w = in[1];
    Array h = tanh(matmul(in[0], w)), first = mean(matmul(h, w), 0, true);
    std::vector<Array> made;
    for (int i = 0; i < 5; ++i) made.push_back(h = matmul(h, w));
    for (size_t i = made.size(); i-- > 0;) h = matmul(h, w) * made[i];
    return std::vector<Array>{matmul(concatenate({first, mean(h, 0, true)}, 0), w)};
  };
  const std::vector<Aval> inputs{{{kRows, 64}, DType::f32}, {{64, 64}, DType::f32}};
  Planned planned = plan_simplified(simplify(trace_closed(inputs, f)), {}, {});
  const auto joined = std::ranges::find(planned.graph.nodes, Op::concatenate, &Node::op);
  ASSERT_NE(joined, planned.graph.nodes.end());
  const auto buffer = std::ranges::find(planned.plan.buffers, joined->out(), &PlanBuffer::value);
  ASSERT_NE(buffer, planned.plan.buffers.end());
  buffer->first = std::min(buffer->first, peak_step(planned.plan) - 1);  // where its first part may be written
  const std::vector<ValueId> across = live_across_peak(planned);
  EXPECT_THAT(across, testing::Not(testing::Contains(joined->out())));
  EXPECT_EQ(simplify(rematerialize_from(planned, across)).nodes.size(), planned.graph.nodes.size());
}

// What they call the host for would be done again.
TEST(Rematerialize, LoopsThatCallTheHostRunOnce) {
  constexpr size_t n = 6;
  const auto f = [](const Array& x) {
    std::vector<Array> all{x};
    for (size_t i = 0; i < n; ++i) {
      const auto step = [](const Array&, const Array& c) {
        debug::callback([](const Array&) {}, c[0]);
        return sort(c * 1.5f);
      };
      all.push_back(fori_loop(0, 2, step, all.back()));
    }
    Array y = all.back();
    for (size_t i = n + 1; i-- > 0;) y = sort(y * all[i]);
    return y;
  };
  const auto x = spec({4096}, f32);
  for (const Tradeoff& t : jit(f).tradeoff(x)) {
    const Plan plan = jit(f, {.memory_budget = t.peak_bytes}).plan(x);
    EXPECT_EQ(std::ranges::count(plan.data().steps, PlanStep::Kind::scan, &PlanStep::kind), n) << t.peak_bytes;
  }
}

}  // namespace
}  // namespace neap::planner
