// A small well-formed graph for every op: what the tests that walk the op table run on.
#pragma once

#include <cstring>
#include <memory>

#include "core/check.h"
#include "trace/graph/host_call.h"
#include "trace/graph/mesh.h"
#include "trace/graph/op_table.h"

namespace neap::tracing {

/// carry + const * x and the carry's old value, for 3 steps over x: f32[3].
inline Graph scan_sample() {
  Graph body;
  body.name = "step";
  const ValueId weight = body.add_input({{}, f32});
  const ValueId carry = body.add_input({{}, f32});
  const ValueId x = body.add_input({{}, f32});
  body.outputs = {body.add(Op::add, {carry, body.add(Op::multiply, {weight, x})}), carry};

  Graph graph;
  graph.name = "scan";
  const ValueId w = graph.add_input({{}, f32});
  const ValueId start = graph.add_input({{}, f32});
  const ValueId xs = graph.add_input({{3}, f32});
  const NodeId scan = graph.add_node(Op::scan, {w, start, xs},
                                     {{Attr::body, std::make_shared<const Graph>(body)},
                                      {Attr::length, 3},
                                      {Attr::num_consts, 1},
                                      {Attr::num_carry, 1},
                                      {Attr::reverse, 0}},
                                     std::source_location::current());
  graph.outputs = graph.nodes[scan].outputs;
  return graph;
}

/// x doubled while it is below a limit, and how often.
inline Graph while_sample() {
  Graph body;
  body.name = "step";
  const ValueId limit = body.add_input({{}, f32});
  body.add_input({{}, bool_});
  const ValueId x = body.add_input({{}, f32}), count = body.add_input({{}, i32});
  const ValueId next = body.add(Op::add, {x, x});
  body.outputs = {body.add(Op::less, {next, limit}), next, body.add(Op::add, {count, body.constant(1, i32)})};

  Graph graph;
  graph.name = "while_loop";
  const ValueId most = graph.add_input({{}, f32}), start = graph.add_input({{}, f32});
  const ValueId test = graph.add(Op::less, {start, most}), zero = graph.constant(0, i32);
  const NodeId loop =
      graph.add_node(Op::while_loop, {most, test, start, zero},
                     {{Attr::body, std::make_shared<const Graph>(body)}, {Attr::num_consts, 1}, {Attr::num_carry, 3}},
                     std::source_location::current());
  graph.outputs = graph.nodes[loop].outputs;
  return graph;
}

/// x + y, or x * y.
inline Graph cond_sample() {
  Graph yes, no;
  for (auto [branch, op] : {std::pair{&yes, Op::add}, {&no, Op::multiply}}) {
    const ValueId x = branch->add_input({{3}, f32}), y = branch->add_input({{3}, f32});
    branch->outputs = {branch->add(op, {x, y})};
  }
  Graph graph;
  graph.name = "cond";
  const ValueId flag = graph.add_input({{}, bool_});
  const ValueId x = graph.add_input({{3}, f32}), y = graph.add_input({{3}, f32});
  graph.outputs = {graph.add(
      Op::cond, {flag, x, y},
      {{Attr::body, std::make_shared<const Graph>(yes)}, {Attr::otherwise, std::make_shared<const Graph>(no)}})};
  return graph;
}

/// c * x with a derivative of its own, in one of the four ways.
inline Graph call_sample(Op op) {
  const Aval vector{{3}, f32};
  Graph product, derivative, forward, backward;  // each takes c first
  for (Graph* g : {&product, &derivative, &forward, &backward}) g->add_input({{}, f32});
  const auto times_c = [&](Graph& g, ValueId v) {
    return g.add(Op::multiply,
                 {g.add(Op::broadcast_in_dim, {g.inputs[0]}, {{Attr::shape, Ints{3}}, {Attr::axes, Ints{}}}), v});
  };
  product.outputs = {times_c(product, product.add_input(vector))};
  derivative.add_input(vector);
  derivative.outputs = {times_c(derivative, derivative.add_input(vector))};
  const ValueId x = forward.add_input(vector);
  forward.outputs = {times_c(forward, x), x};
  if (op == Op::custom_vjp) backward.add_input(vector);  // the residual
  backward.outputs = {times_c(backward, backward.add_input(vector))};
  const auto pointer = [](Graph& g) { return std::make_shared<const Graph>(std::move(g)); };

  Graph graph;
  graph.name = std::string(name(op));
  const ValueId c = graph.add_input({{}, f32}), in = graph.add_input(vector);
  Attrs attrs{{Attr::num_consts, 1}};
  if (op == Op::linear_solve) attrs.set(Attr::matvec, std::make_shared<const Graph>(product));
  if (op != Op::linear_call) attrs.set(Attr::body, pointer(product));
  if (op == Op::custom_jvp) attrs.set(Attr::derivative, pointer(derivative));
  if (op == Op::custom_vjp) attrs.set(Attr::forward, pointer(forward));
  if (op != Op::custom_jvp) attrs.set(Attr::backward, pointer(backward));
  graph.outputs = {graph.add(op, {c, in}, std::move(attrs))};
  return graph;
}

/// f32[3] -> f32[3], the same elements.
inline HostFunctionPtr host_sample() {
  static const HostFunctionPtr function = make_host_function(
      {"same",
       {{{3}, f32}},
       {{{3}, f32}},
       false,
       [](std::span<const std::byte* const> in, std::span<std::byte* const> out) { std::memcpy(out[0], in[0], 12); }});
  return function;
}

/// An axis of one rank, which needs no processes.
inline MeshAxisPtr one_rank() {
  static const MeshAxisPtr axis = std::make_shared<const MeshAxis>(MeshAxis{.name = "x", .size = 1});
  return axis;
}

/// One node of `op`; elementwise ops on operands of dtype `dtype`, structural ops on those of their own.
inline Graph sample_graph(Op op, DType dtype = f32) {
  if (op == Op::scan) return scan_sample();
  if (op == Op::while_loop) return while_sample();
  if (op == Op::cond) return cond_sample();
  Graph graph;
  graph.name = std::string(name(op));
  const auto input = [&](Shape shape, DType type) { return graph.add_input({std::move(shape), type}); };
  const auto finish = [&](std::vector<ValueId> operands, Attrs attrs = {}) {
    graph.outputs = {graph.add(op, std::move(operands), std::move(attrs))};
    return graph;
  };
  const OpInfo& info = op_info(op);
  if (info.family == Family::call) return call_sample(op);
  if (info.family == Family::elementwise) {
    std::vector<ValueId> operands;
    for (int i = 0; i < info.arity; ++i) {
      operands.push_back(input({2, 3}, i == 0 && info.types == TypeRule::select ? bool_ : dtype));
    }
    return finish(operands);
  }
  const Attrs indexed{{Attr::axes, Ints{0}}, {Attr::mode, static_cast<int64_t>(IndexMode::clip)}};
  switch (op) {
    case Op::constant: return finish({}, {{Attr::value, 0.1}, {Attr::dtype, f32}, {Attr::shape, Ints{2}}});
    case Op::iota: return finish({}, {{Attr::dtype, i32}, {Attr::shape, Ints{2, 3}}, {Attr::axis, 1}});
    case Op::convert: return finish({input({2, 3}, f32)}, {{Attr::dtype, i8}});
    case Op::bitcast: return finish({input({2, 3}, f32)}, {{Attr::dtype, u32}});
    case Op::real:
    case Op::imag: return finish({input({2, 3}, c64)});
    case Op::complex: return finish({input({2, 3}, f32), input({2, 3}, f32)});
    case Op::fft: return finish({input({2, 3}, c64)}, {{Attr::axis, 1}, {Attr::reverse, 0}});
    case Op::fft_pairs: return finish({input({2, 3, 2}, f32)}, {{Attr::axis, 1}, {Attr::reverse, 0}});
    case Op::rfft_pairs: return finish({input({2, 4}, f32)}, {{Attr::axis, 1}, {Attr::reverse, 0}});
    case Op::irfft_pairs: return finish({input({2, 3, 2}, f32)}, {{Attr::axis, 1}, {Attr::reverse, 0}});
    case Op::broadcast_in_dim:
      return finish({input({3, 1}, f32)}, {{Attr::shape, Ints{2, 3, 4}}, {Attr::axes, Ints{1, 2}}});
    case Op::reshape: return finish({input({2, 3}, f32)}, {{Attr::shape, Ints{3, 2}}});
    case Op::transpose: return finish({input({2, 3, 4}, f32)}, {{Attr::permutation, Ints{2, 0, 1}}});
    case Op::slice:
      return finish({input({4, 5}, f32)},
                    {{Attr::start, Ints{1, 0}}, {Attr::limit, Ints{3, 5}}, {Attr::stride, Ints{1, 2}}});
    case Op::pad:
      return finish({input({2, 3}, f32), input({}, f32)},
                    {{Attr::low, Ints{1, -1}}, {Attr::high, Ints{0, 2}}, {Attr::interior, Ints{0, 1}}});
    case Op::concatenate: return finish({input({2, 3}, f32), input({2, 1}, f32)}, {{Attr::axis, 1}});
    case Op::reverse: return finish({input({2, 3}, f32)}, {{Attr::axes, Ints{1}}});
    case Op::dynamic_slice: return finish({input({4, 5}, f32), input({2}, i64)}, {{Attr::shape, Ints{2, 3}}});
    case Op::dynamic_update_slice: return finish({input({4, 5}, f32), input({2, 3}, f32), input({2}, i64)});
    case Op::reduce_any:
    case Op::reduce_all: return finish({input({2, 3}, bool_)}, {{Attr::axes, Ints{1}}});
    case Op::reduce_xor: return finish({input({2, 3}, i32)}, {{Attr::axes, Ints{1}}});
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_max:
    case Op::reduce_min: return finish({input({2, 3}, f32)}, {{Attr::axes, Ints{0}}});
    case Op::argmax:
    case Op::argmin: return finish({input({2, 3}, f32)}, {{Attr::axis, 1}});
    case Op::cumsum:
    case Op::cumprod:
    case Op::cummax:
    case Op::cummin: return finish({input({2, 3}, f32)}, {{Attr::axis, 1}, {Attr::reverse, 0}});
    case Op::sort:
    case Op::argsort: return finish({input({2, 3}, f32)}, {{Attr::axis, 1}, {Attr::descending, 0}});
    case Op::dot_general:
      return finish({input({5, 2, 3}, f32), input({5, 3, 4}, f32)}, {{Attr::lhs_batch, Ints{0}},
                                                                     {Attr::rhs_batch, Ints{0}},
                                                                     {Attr::lhs_contract, Ints{2}},
                                                                     {Attr::rhs_contract, Ints{1}}});
    case Op::convolution:
      return finish({input({2, 3, 2, 4, 5}, f32), input({2, 4, 2, 3, 2}, f32)}, {{Attr::lhs_axes, Ints{0, 1, 2, 3, 4}},
                                                                                 {Attr::rhs_axes, Ints{0, 1, 2, 3, 4}},
                                                                                 {Attr::out_axes, Ints{1, 0, 2, 3, 4}},
                                                                                 {Attr::stride, Ints{1, 2}},
                                                                                 {Attr::dilation, Ints{1, 2}},
                                                                                 {Attr::low, Ints{1, 0}},
                                                                                 {Attr::high, Ints{1, 1}},
                                                                                 {Attr::interior, Ints{0, 0}}});
    case Op::cholesky:
    case Op::lu: return finish({input({2, 3, 3}, f32)});
    case Op::cholesky_tangent: return finish({input({2, 3, 3}, f32), input({2, 3, 3}, f32)});
    case Op::cholesky_cotangent: return finish({input({2, 3, 3}, f32), input({2, 3, 3}, f32)}, {{Attr::packed, 0}});
    case Op::triangular_solve:
      return finish({input({2, 3, 3}, f32), input({2, 3, 4}, f32)},
                    {{Attr::lower, 1}, {Attr::transposed, 0}, {Attr::unit, 0}});
    case Op::qr: return finish({input({2, 4, 3}, f32)}, {{Attr::full, 0}});
    case Op::eigh: return finish({input({2, 3, 3}, f32)}, {{Attr::vectors, 1}});
    case Op::svd: return finish({input({2, 3, 4}, f32)}, {{Attr::full, 0}, {Attr::vectors, 1}});
    case Op::gather: return finish({input({4, 3}, f32), input({2, 1}, i32)}, indexed);
    case Op::scatter_set:
    case Op::scatter_add:
    case Op::scatter_mul:
    case Op::scatter_min:
    case Op::scatter_max: return finish({input({4, 3}, f32), input({2, 1}, i16), input({2, 3}, f32)}, indexed);
    case Op::random_bits:
      return finish({input({2}, u32), input({2}, i64)},
                    {{Attr::shape, Ints{2, 3}}, {Attr::dtype, u32}, {Attr::full_shape, Ints{8, 3}}});
    case Op::random_split: return finish({input({2}, u32)}, {{Attr::shape, Ints{4}}});
    case Op::random_fold_in: return finish({input({5, 2}, u32), input({5}, u32)});
    case Op::host_call: return finish({input({2, 3}, f32)}, {{Attr::callee, host_sample()}, {Attr::batch, Ints{2}}});
    case Op::axis_index: return finish({}, {{Attr::mesh_axis, one_rank()}});
    case Op::psum:
    case Op::pmax:
    case Op::pmin:
    case Op::all_gather:
    case Op::pvary:
    case Op::pinvariant: return finish({input({2, 3}, f32)}, {{Attr::mesh_axis, one_rank()}});
    case Op::all_to_all: return finish({input({1, 3}, f32)}, {{Attr::mesh_axis, one_rank()}});
    case Op::ragged_all_to_all: {
      const ValueId none =
          graph.add(Op::constant, {}, {{Attr::value, int64_t{0}}, {Attr::dtype, i64}, {Attr::shape, Ints{1}}});
      return finish({input({2, 3}, f32), none, none, none, none}, {{Attr::mesh_axis, one_rank()}, {Attr::length, 4}});
    }
    case Op::ppermute:
      return finish({input({2, 3}, f32)}, {{Attr::mesh_axis, one_rank()}, {Attr::permutation, Ints{-1}}});
    default: break;
  }
  throw InternalError(fmt::format("{}: no sample", name(op)));
}

/// The first dtype that an elementwise op takes, f32 where it takes that.
inline DType sample_dtype(Op op) {
  const TypeRule rule = op_info(op).types;
  return rule == TypeRule::integral ? i32 : f32;
}

}  // namespace neap::tracing
