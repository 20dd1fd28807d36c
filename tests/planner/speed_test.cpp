// Large programs are planned at all, at their bound, within the time that CTest gives a test; how long each takes is
// printed. neap-plan-speed measures it.
#include <gtest/gtest.h>

#include <neap/error.h>

#include <chrono>

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/search/make_plan.h"

namespace neap::planner {
namespace {

void plan(const Graph& g) {
  PlanOptions options;
  options.want_alternatives = false;
  const auto begin = std::chrono::steady_clock::now();
  const PlanData made = make_plan(g, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GE(made.peak_bytes, made.lower_bound_bytes);
  EXPECT_LE(made.peak_bytes, made.lower_bound_bytes + made.lower_bound_bytes / 1000);
  std::printf("    %zu nodes, %zu steps: %.4f s, peak / bound %.3f\n", g.nodes.size(), made.steps.size(), seconds,
              static_cast<double>(made.peak_bytes) / static_cast<double>(made.lower_bound_bytes));
}

// A residual network, unrolled, and its backward-like second half, which reads the activations.
Graph unrolled(int layers) {
  Graph g;
  const ValueId w = g.add_input({{64, 64}, DType::f32});
  ValueId x = g.add_input({{128, 64}, DType::f32});
  std::vector<ValueId> activations;
  for (int i = 0; i < layers; ++i) {
    activations.push_back(x);
    x = g.add(Op::add, {x, g.add(Op::tanh, {matmul(g, x, w)})});
  }
  for (int i = layers; i-- > 0;) {
    const ValueId y = g.add(Op::multiply, {x, activations[i]});
    x = g.add(Op::add, {matmul(g, y, w), x});
  }
  g.outputs = {x};
  return g;
}

Graph chain(int length) {
  Graph g;
  ValueId x = g.add_input({{1000}, DType::f32});
  for (int i = 0; i < length; ++i) x = g.add(i % 2 ? Op::sin : Op::exp, {x});
  g.outputs = {x};
  return g;
}

// Products that are all made first and read in the opposite order, and a tree of them.
Graph wide(int count) {
  Graph g;
  const ValueId w = g.add_input({{64, 64}, DType::f32});
  std::vector<ValueId> products;
  for (int i = 0; i < count; ++i) {
    products.push_back(matmul(g, g.add(Op::add, {w, splat(g, i, DType::f32, {64, 64})}), w));
  }
  ValueId x = products.back();
  for (size_t i = products.size() - 1; i-- > 0;) x = matmul(g, x, products[i]);
  g.outputs = {x};
  while (products.size() > 1) {
    std::vector<ValueId> pairs;
    for (size_t i = 0; i + 1 < products.size(); i += 2) pairs.push_back(matmul(g, products[i], products[i + 1]));
    products = std::move(pairs);
  }
  g.outputs.push_back(products[0]);
  return g;
}

// Many small functions beside each other.
Graph apart(int count, int64_t elements) {
  Graph g;
  for (int i = 0; i < count; ++i) {
    g.outputs.push_back(g.add(Op::exp, {g.add(Op::sin, {g.add_input({{elements}, DType::f32})})}));
  }
  return g;
}

// What a budget that cannot be met takes: the whole search.
TEST(Speed, ABudgetThatCannotBeMet) {
  PlanOptions options;
  options.want_alternatives = false;
  options.memory_budget = 1;
  const Graph g = unrolled(170);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(make_plan(g, options), BudgetError);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("    %zu nodes: no after %.3f s\n", g.nodes.size(), seconds);
}

TEST(Speed, TenOps) { plan(chain(10)); }
TEST(Speed, AThousandNodes) { plan(unrolled(170)); }
TEST(Speed, TenThousandNodes) { plan(unrolled(1700)); }
TEST(Speed, ALongChain) { plan(chain(10'000)); }
TEST(Speed, WidePrograms) {
  plan(wide(2000));
  plan(apart(5000, 4));
  plan(apart(5000, 1000));
}
// 2 s where nothing else runs; what was quadratic took minutes.
TEST(Speed, FiftyThousandNodes) { plan(unrolled(8500)); }

}  // namespace
}  // namespace neap::planner
