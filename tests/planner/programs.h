// Plans of several kinds, for tests of what reads plans.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "graphs.h"
#include "planner/plan/plan.h"
#include "planner/search/candidates.h"
#include "planner/search/make_plan.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {

/// What f makes of inputs of these shapes.
template <class F>
Graph traced(const std::vector<Shape>& shapes, const F& f, DType dtype = DType::f32) {
  std::vector<Aval> avals;
  for (const Shape& shape : shapes) avals.push_back({shape, dtype});
  return tracing::trace_closed(avals, [&](const tracing::Arrays& in) { return tracing::Arrays{f(in)}; });
}

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

inline ValueId transpose(Graph& g, ValueId v, Ints permutation) {
  return g.add(Op::transpose, {v}, {{Attr::permutation, std::move(permutation)}});
}

inline ValueId dot(Graph& g, ValueId a, ValueId b, Ints a_contract, Ints b_contract, Ints a_batch = {},
                   Ints b_batch = {}) {
  return g.add(Op::dot_general, {a, b},
               {{Attr::lhs_batch, std::move(a_batch)},
                {Attr::rhs_batch, std::move(b_batch)},
                {Attr::lhs_contract, std::move(a_contract)},
                {Attr::rhs_contract, std::move(b_contract)}});
}

/// Tangents of two layers, as vmap gives them: the batch of tangents is moved to the front of each product.
inline Graph batch_of_tangents() {
  Graph g;
  const int64_t tangents = 40, batch = 256, width = 32;
  const ValueId x = g.add_input({{batch, width}, DType::f32});
  const ValueId w = g.add_input({{tangents, width, width}, DType::f32});
  const ValueId bias = g.add_input({{tangents, width}, DType::f32});
  const ValueId v = g.add_input({{width, width}, DType::f32});
  ValueId t = transpose(g, dot(g, x, w, {1}, {1}), {1, 0, 2});
  t = g.add(Op::add, {t, broadcast(g, bias, {tangents, batch, width}, {0, 2})});
  t = g.add(Op::multiply, {t, broadcast(g, x, {tangents, batch, width}, {1, 2})});
  t = dot(g, t, v, {2}, {0});
  t = g.add(Op::add, {t, transpose(g, dot(g, x, w, {1}, {2}), {1, 0, 2})});
  g.outputs = {dot(g, t, x, {1}, {0})};
  return g;
}

/// transpose(x w1 + x w2): each product is as large as the sum, which the transpose's step computes on its way.
inline Graph transposed_sum() {
  Graph g;
  const ValueId a = g.add_input({{512, 4}, DType::f32}), b = g.add_input({{4, 512}, DType::f32});
  const ValueId c = g.add_input({{4, 512}, DType::f32});
  g.outputs = {transpose(g, g.add(Op::add, {matmul(g, a, b), matmul(g, a, c)}), {1, 0})};
  return g;
}

/// A table (the first input) less its gradient, which is nothing but in 64 of its rows.
inline Graph descent_of_a_table(int64_t rows, int64_t width) {
  Graph g;
  const ValueId table = g.add_input({{rows, width}, DType::f32});
  const ValueId i = g.add_input({{64, 1}, DType::i32}), u = g.add_input({{64, width}, DType::f32});
  const ValueId gradient = g.add(Op::scatter_add, {splat(g, 0, DType::f32, {rows, width}), i, u},
                                 {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{3}}});
  g.outputs = {g.add(Op::subtract, {table, gradient})};
  return g;
}

/// Tries the candidate of that name, where it applies.
inline bool consider(std::string_view name, Search& search) {
  const auto candidate = std::ranges::find(candidates(), name, &Candidate::name);
  return candidate != candidates().end() && candidate->applies(search) && candidate->consider(search);
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
