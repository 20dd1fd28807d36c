// Values that wait are made again from a few that are kept.
#include "planner/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include <cmath>

#include "planner/fuse.h"
#include "planner/simplify.h"
#include "trace/op_table.h"

namespace neap::planner {
namespace {

using namespace trace;

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
  EXPECT_THAT(lean.strategies(), testing::Contains("recompute"));
}

TEST(Recompute, LayersFitInTheSquareRoot) {
  const auto plain = [](const Array& h, const Array& w) { return tanh(matmul(h, w)); };
  const auto residual = [](const Array& h, const Array& w) { return h + tanh(matmul(h, w)); };
  for (const int n : {16, 49}) {
    check_square_root(n, plain);
    check_square_root(n, residual);
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

int count(const Graph& graph, Op op) { return static_cast<int>(std::ranges::count(graph.nodes, op, &Node::op)); }

TEST(Recompute, WhatWaitsIsFoundInItsOrder) {
  const Planned planned = chain(8);
  const std::vector<ValueId> values = waiting(planned);
  EXPECT_GE(values.size(), 6u);
  EXPECT_LE(values.size(), 8u);
  EXPECT_TRUE(std::ranges::is_sorted(values));
}

TEST(Recompute, EverySecondValueIsKept) {
  const Planned planned = chain(8);
  const std::vector<ValueId> values = waiting(planned);
  const size_t bytes = 1024 * 64 * 4;
  EXPECT_EQ(checkpoints(planned, values, 0), values);
  EXPECT_EQ(checkpoints(planned, values, bytes).size(), values.size() / 2);
  EXPECT_THAT(checkpoints(planned, values, bytes * values.size()), testing::IsEmpty());
}

TEST(Recompute, CopiesStayApartFromTheirOriginals) {
  const Planned planned = chain(8);
  const std::vector<ValueId> values = waiting(planned), kept = checkpoints(planned, values, 1024 * 64 * 4);
  const Graph again = simplify(recompute_from(planned, kept));
  EXPECT_EQ(count(again, Op::dot_general),
            count(planned.graph, Op::dot_general) + static_cast<int>(values.size() - kept.size()));
  EXPECT_EQ(std::ranges::count_if(again.nodes, [](const Node& node) { return is_copy(node); }),
            static_cast<std::ptrdiff_t>(values.size() - kept.size()));
  EXPECT_LT(plan_simplified(again, {}, {}).plan.peak_bytes, planned.plan.peak_bytes);
}

TEST(Recompute, NothingChangesWhereAllIsKept) {
  const Planned planned = chain(5);
  EXPECT_EQ(simplify(recompute_from(planned, waiting(planned))).nodes.size(), planned.graph.nodes.size());
}

}  // namespace
}  // namespace neap::planner
