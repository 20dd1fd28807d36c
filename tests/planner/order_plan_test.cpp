// Ordering a plan never raises its peak, with all that is written in place: dying operands, donated arguments, carries.
#include <gtest/gtest.h>
#include <neap/error.h>

#include <algorithm>
#include <random>

#include "graphs.h"
#include "planner/fuse/in_place.h"
#include "planner/fuse/insert_copies.h"
#include "planner/fuse/steps.h"
#include "planner/order/order.h"
#include "planner/place/buffer_assignment.h"
#include "planner/rewrite/simplify.h"

namespace neap::planner {
namespace {

// Live bytes at the peak step of the graph's plan, its steps in program order or reordered.
size_t live_peak(const Graph& graph, bool reorder, bool carves, const std::vector<bool>& donated, bool gpu = false) {
  PlanOptions options;
  options.donated = donated;
  options.target.gpu = gpu;
  const Graph ready = insert_copies(simplify(graph), false, true);
  const auto no_loops = [](const tracing::GraphPtr&, tracing::LoopLayout) -> std::shared_ptr<const PlanData> {
    throw InternalError("no loops here");
  };
  PlanData plan = make_steps(ready, fuse(ready, {}), options, no_loops);
  if (reorder) planner::reorder(plan, order_steps(order_problem(plan, {.carves = carves})));
  alias_in_place(plan);
  assign_buffers(plan, {.carves = carves});
  return carves ? plan.lower_bound_bytes : plan.peak_bytes;
}

// Products, which are stored, and elementwise steps, which may be written over their operands.
Graph random_graph(std::mt19937& random, int nodes) {
  Graph g;
  std::vector<ValueId> values;
  for (int i = 0; i < 3; ++i) values.push_back(g.add_input({{32, 32}, DType::f32}));
  for (int i = 0; i < nodes; ++i) {
    const ValueId a = values[random() % values.size()];
    const ValueId b = values[values.size() - 1 - random() % std::min<size_t>(8, values.size())];
    switch (random() % 4) {
      case 0: values.push_back(g.add(Op::tanh, {matmul(g, a, b)})); break;
      case 1: values.push_back(g.add(Op::add, {a, b})); break;
      default: values.push_back(matmul(g, a, b));
    }
  }
  g.outputs = {values.back(), values[values.size() / 2 + 1]};
  if (g.outputs[0] == g.outputs[1]) g.outputs.pop_back();
  return g;
}

TEST(OrderPlan, NeverAboveProgramOrder) {
  std::mt19937 random(19);
  for (int round = 0; round < 60; ++round) {
    const Graph graph = random_graph(random, 5 + static_cast<int>(random() % 40));
    for (const bool carves : {true, false}) {
      for (const std::vector<bool>& donated : {std::vector<bool>{}, std::vector<bool>{true, false, true}}) {
        EXPECT_LE(live_peak(graph, true, carves, donated), live_peak(graph, false, carves, donated)) << round;
      }
    }
  }
}

// Each update frees a gradient and takes a donated parameter's bytes: made as soon as it can be, one gradient lives at
// a time, and what its product packs, which is twice as large.
TEST(OrderPlan, UpdatesTakeDonatedParameters) {
  constexpr int kLayers = 6;
  constexpr size_t kMatrix = 32 * 32 * 4;
  Graph g;
  std::vector<ValueId> parameters, gradients;
  const ValueId x = g.add_input({{32, 32}, DType::f32});
  for (int i = 0; i < kLayers; ++i) parameters.push_back(g.add_input({{32, 32}, DType::f32}));
  for (int i = 0; i < kLayers; ++i) gradients.push_back(matmul(g, x, parameters[i]));
  for (int i = 0; i < kLayers; ++i) g.outputs.push_back(g.add(Op::subtract, {parameters[i], gradients[i]}));
  std::vector<bool> donated(kLayers + 1, true);
  donated[0] = false;
  const size_t arguments = (kLayers + 1) * kMatrix;
  EXPECT_GE(live_peak(g, false, true, donated), arguments + kLayers * kMatrix);
  EXPECT_EQ(live_peak(g, true, true, donated), arguments + 3 * kMatrix);
}

// An output with bytes of its own is written over a donated argument too: other readers of that stay before it.
TEST(OrderPlan, ReadersOfADonatedArgumentStayBeforeWhatIsWrittenOverIt) {
  Graph g;
  const ValueId d = g.add_input({{128, 128}, DType::f32}), u = g.add_input({{128, 64}, DType::f32});
  const ValueId p = g.add_input({{128, 16}, DType::f32}), q = g.add_input({{16, 512}, DType::f32});
  const ValueId r = matmul(g, d, u);
  const ValueId out = g.add(Op::multiply, {d, splat(g, 2, DType::f32, {128, 128})});
  const ValueId y = reduce_sum(g, matmul(g, out, out), {0, 1});
  const ValueId wide = matmul(g, g.add(Op::multiply, {p, broadcast(g, y, {128, 16}, {})}), q);
  const ValueId t = reduce_sum(g, wide, {0, 1});
  g.outputs = {out, reduce_sum(g, g.add(Op::multiply, {r, broadcast(g, t, {128, 64}, {})}), {0, 1})};
  for (const bool carves : {true, false}) {
    EXPECT_LE(live_peak(g, true, carves, {true}), live_peak(g, false, carves, {true})) << carves;
  }
}

// A step that can be written over a donated argument is, whatever else it could be written over.
TEST(OrderPlan, DonatedArgumentsAreTakenBeforeOtherOperands) {
  for (const bool first : {true, false}) {
    Graph g;
    const ValueId d = g.add_input({{128, 128}, DType::f32}), x = g.add_input({{128, 128}, DType::f32});
    const ValueId w = g.add_input({{128, 64}, DType::f32}), v = g.add_input({{64, 192}, DType::f32});
    const ValueId a = matmul(g, x, x), e = matmul(g, a, x);
    const ValueId sum = first ? g.add(Op::add, {d, a}) : g.add(Op::add, {a, d});
    const ValueId narrow = matmul(g, sum, w);
    const ValueId one = reduce_sum(g, g.add(Op::multiply, {a, e}), {0, 1});
    const ValueId two = broadcast(g, reduce_sum(g, matmul(g, narrow, v), {0, 1}), {128, 128}, {});
    g.outputs = {one, reduce_sum(g, g.add(Op::multiply, {sum, two}), {0, 1})};
    for (const bool carves : {true, false}) {
      EXPECT_LE(live_peak(g, true, carves, {true}, true), live_peak(g, false, carves, {true}, true)) << first << carves;
    }
  }
}

}  // namespace
}  // namespace neap::planner
