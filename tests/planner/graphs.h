// Graphs that the planner's tests plan.
#pragma once

#include <memory>
#include <source_location>

#include "planner/plan/queries.h"
#include "trace/graph/graph.h"

namespace neap::planner {

using tracing::Attr;
using tracing::Attrs;
using tracing::Graph;
using tracing::Ints;
using tracing::Op;
using tracing::ValueId;

inline ValueId splat(Graph& g, double value, DType dtype, Shape shape) {
  return g.constant(value, dtype, std::move(shape));
}

/// What a plan holds at its peak step.
inline size_t most_live(const PlanData& plan) {
  return plan.steps.empty() ? 0 : plan.steps[static_cast<size_t>(peak_step(plan))].bytes_live;
}

/// A scan of so many iterations, its first results the carries; `inputs`: constants, carries, what is sliced.
inline const tracing::Node& add_scan(Graph& g, std::vector<ValueId> inputs, const Graph& body, int64_t length,
                                     int64_t num_consts, int64_t num_carry) {
  return g.nodes[g.add_node(Op::scan, std::move(inputs),
                            {{Attr::body, std::make_shared<const Graph>(body)},
                             {Attr::length, length},
                             {Attr::num_consts, num_consts},
                             {Attr::num_carry, num_carry},
                             {Attr::reverse, int64_t{0}}},
                            std::source_location::current())];
}

inline ValueId convert(Graph& g, ValueId v, DType dtype) { return g.add(Op::convert, {v}, {{Attr::dtype, dtype}}); }

inline ValueId reduce_sum(Graph& g, ValueId v, Ints axes) {
  return g.add(Op::reduce_sum, {v}, {{Attr::axes, std::move(axes)}});
}

inline ValueId broadcast(Graph& g, ValueId v, Shape shape, Ints axes) {
  return g.add(Op::broadcast_in_dim, {v}, {{Attr::shape, std::move(shape)}, {Attr::axes, std::move(axes)}});
}

inline ValueId reshape(Graph& g, ValueId v, Shape shape) {
  return g.add(Op::reshape, {v}, {{Attr::shape, std::move(shape)}});
}

/// matmul of [m, k] and [k, n].
inline ValueId matmul(Graph& g, ValueId a, ValueId b) {
  return g.add(Op::dot_general, {a, b},
               {{Attr::lhs_batch, Ints{}},
                {Attr::rhs_batch, Ints{}},
                {Attr::lhs_contract, Ints{1}},
                {Attr::rhs_contract, Ints{0}}});
}

/// uniform in [0, 1) from 32 bits, f32.
inline ValueId uniform(Graph& g, ValueId key, const Shape& shape) {
  ValueId x = g.add(Op::random_bits, {key}, {{Attr::shape, shape}, {Attr::dtype, DType::u32}});
  Shape full = g.aval(x).shape;
  x = g.add(Op::shift_right, {x, splat(g, 9, DType::u32, full)});
  x = g.add(Op::bitwise_or, {x, splat(g, 0x3f800000, DType::u32, full)});
  x = g.add(Op::bitcast, {x}, {{Attr::dtype, DType::f32}});
  return g.add(Op::subtract, {x, splat(g, 1, DType::f32, full)});
}

/// normal: sqrt(2) erf_inv(2 u - 1), rounded to `dtype`.
inline ValueId normal(Graph& g, ValueId key, const Shape& shape, DType dtype) {
  ValueId x = uniform(g, key, shape);
  const Shape full = g.aval(x).shape;
  x = g.add(Op::multiply, {x, splat(g, 2, DType::f32, full)});
  x = g.add(Op::subtract, {x, splat(g, 0.99999994, DType::f32, full)});
  x = g.add(Op::erf_inv, {x});
  x = g.add(Op::multiply, {x, splat(g, 1.4142135623730951, DType::f32, full)});
  return dtype == DType::f32 ? x : convert(g, x, dtype);
}

/// d sum(gather(x, idx) * 2.5) / d x, or the sum itself.
inline Graph gather_case(int64_t rows, DType index, bool gradient) {
  Graph g;
  const ValueId x = g.add_input({{128, 128, 128}, DType::f32});
  const ValueId idx = g.add_input({{rows, 3}, index});
  const Attrs attrs{{Attr::axes, Ints{0, 1, 2}}, {Attr::mode, int64_t{0}}};
  if (gradient) {
    const ValueId cotangent = broadcast(g, splat(g, 2.5, DType::f32, {}), {rows}, {});
    g.outputs = {g.add(Op::scatter_add, {splat(g, 0, DType::f32, {128, 128, 128}), idx, cotangent}, attrs)};
  } else {
    const ValueId y = g.add(Op::gather, {x, idx}, attrs);
    g.outputs = {reduce_sum(g, g.add(Op::multiply, {y, splat(g, 2.5, DType::f32, {rows})}), {0})};
  }
  return g;
}

}  // namespace neap::planner
