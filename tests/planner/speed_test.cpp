// Planning time grows about linearly with the program. The limits are generous: sanitizers and busy machines pass.
#include <gtest/gtest.h>

#include <chrono>

#include "graphs.h"
#include "planner/plan.h"

namespace neap::planner {
namespace {

double seconds_to_plan(const Graph& g) {
  PlanOptions options;
  options.want_alternatives = false;
  const auto begin = std::chrono::steady_clock::now();
  const PlanData plan = make_plan(g, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(plan.peak_bytes >= plan.lower_bound_bytes, true);
  std::printf("    %zu nodes, %zu steps: %.4f s, peak / bound %.3f\n", g.nodes.size(), plan.steps.size(), seconds,
              static_cast<double>(plan.peak_bytes) / static_cast<double>(plan.lower_bound_bytes));
  return seconds;
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

TEST(Speed, TenOps) { EXPECT_LT(seconds_to_plan(chain(10)), 0.02); }
TEST(Speed, AThousandNodes) { EXPECT_LT(seconds_to_plan(unrolled(170)), 1); }
TEST(Speed, TenThousandNodes) { EXPECT_LT(seconds_to_plan(unrolled(1700)), 10); }
TEST(Speed, ALongChain) { EXPECT_LT(seconds_to_plan(chain(10'000)), 10); }

}  // namespace
}  // namespace neap::planner
