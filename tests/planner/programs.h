// Plans of several kinds, for tests of what reads plans.
#pragma once

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/search/make_plan.h"

namespace neap::planner {

/// Products that are all made before they are read, in the opposite order.
inline Graph products(int count, int64_t side = 64) {
  Graph g;
  const ValueId w = g.add_input({{side, side}, DType::f32});
  std::vector<ValueId> made;
  for (int i = 0; i < count; ++i) {
    made.push_back(matmul(g, g.add(Op::add, {w, splat(g, i, DType::f32, {side, side})}), w));
  }
  ValueId x = made.back();
  for (size_t i = made.size() - 1; i-- > 0;) x = matmul(g, x, made[i]);
  g.outputs = {x, made[0]};
  return g;
}

/// A loop whose carry is multiplied by a constant, with results of every step.
inline Graph loop_of_products() {
  Graph body;
  const ValueId w = body.add_input({{32, 32}, DType::f32}), x = body.add_input({{32, 32}, DType::f32});
  const ValueId next = body.add(Op::tanh, {matmul(body, matmul(body, x, w), w)});
  body.outputs = {next, body.add(Op::exp, {next})};
  Graph g;
  const ValueId a = g.add_input({{32, 32}, DType::f32}), b = g.add_input({{32, 32}, DType::f32});
  const tracing::Node& loop = add_scan(g, {a, b}, body, 10, 1, 1);
  g.outputs = loop.outputs;
  return g;
}

/// Planned and naive, with and without a loop, at the size of gigabytes and of kilobytes.
inline std::vector<PlanData> sample_plans() {
  std::vector<PlanData> plans;
  for (const Graph& g : {products(10), products(1), loop_of_products(), gather_case(int64_t{1} << 33, DType::i32, true),
                         gather_case(1000, DType::i16, false)}) {
    for (const bool naive : {false, true}) {
      PlanOptions options;
      options.name = "f \"quoted\" </script>\n\xff";
      options.naive = naive;
      plans.push_back(make_plan(g, options));
    }
  }
  PlanOptions options;
  options.memory_budget = plans[0].peak_bytes;
  plans.push_back(make_plan(products(10), options));
  return plans;
}

}  // namespace neap::planner
