// The one intermediate representation: a graph in static single assignment form.
//
// A Graph is a list of nodes in topological order. Every value has a static shape and dtype (its Aval). Control flow
// (scan, while_loop, cond) holds its bodies as sub-graphs in attributes. Every transform and every pass is a function
// Graph -> Graph. Inputs are the function's parameters followed by `num_captured` captured arrays (concrete arrays, or
// values of an outer trace, that the function closed over).
#pragma once

#include <neap/dtype.h>
#include <neap/shape.h>

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace neap::tracing {

struct Graph;
using GraphPtr = std::shared_ptr<const Graph>;
struct HostFunction;
using HostFunctionPtr = std::shared_ptr<const HostFunction>;
struct MeshAxis;
using MeshAxisPtr = std::shared_ptr<const MeshAxis>;
using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr ValueId no_value = -1;
inline constexpr NodeId no_node = -1;  // the definition of a graph input
// Graphs within graphs, and traces within traces, may nest this deep: passes recur into them, and use the stack of the
// thread at each level.
inline constexpr int kDeepest = 64;

/// Op has one enumerator for each row of the op table (include/neap/ops.def and trace/graph/ops_structural.def).
enum class Op : uint16_t {
#define NEAP_OP(name, ...) name,
#include "trace/graph/all_ops.inc"
#undef NEAP_OP
  count_
};

/// Attr names the attributes; an op's row documents which it takes.
enum class Attr : uint8_t {
  adds,          // int (0/1): ragged_all_to_all: rows that come from several emulated ranks are their sum
  after,         // int (0/1): host_call: its last operand is what the effect before it left, and is not read
  axes,          // ints: reduced / reversed / indexed axes; for broadcast_in_dim: the output axis of each operand axis
  axis,          // int: the axis of iota, concatenate, argmax, sort, fft, ...
  backward,      // graph: custom_vjp, linear_call: (constants, residuals, cotangents) -> cotangents of floating inputs;
                 // linear_solve: (constants, c) -> y with A^T y = c
  batch,         // ints: host_call: leading axes of its operands, over whose elements it is called
  body,          // graph: of scan, while_loop and calls; cond: what is computed where it is true
  callee,        // function: host_call
  copy,          // int: rematerializes what another node computes, and is kept separate from it (any op)
  derivative,    // graph: custom_jvp: (inputs, tangents of the floating ones) -> tangents of floating results
  descending,    // int (0/1): sort, argsort
  dilation,      // ints: convolution: of the window
  dtype,         // dtype: target of convert, bitcast, iota, random_bits, constant
  forward,       // graph: custom_vjp: inputs -> results, residuals
  full,          // int (0/1): qr, svd: square orthogonal factors
  full_shape,    // ints: shape of the whole of which this is a slice: random_bits (its flat index is the counter), sums
  high,          // ints: pad, convolution
  interior,      // ints: pad, convolution
  label,         // string: reshape: what checkpoint_name() calls its result
  length,        // int: trip count of scan, at most of while_loop; rows that ragged_all_to_all gives
  lhs_axes,      // ints: convolution: which axis of the operand is the group, the batch, the features, then space
  lhs_batch,     // ints: dot_general
  lhs_contract,  // ints
  limit,         // ints: slice; sort, argsort: one
  low,           // ints: pad, convolution
  lower,         // int (0/1): triangular_solve: which triangle is read
  marks,         // int: bits that passes of the planner set for those after them (any op)
  masked,        // int (0/1): host_call: its first operand says where it is called
  matvec,        // graph: linear_solve: (constants, x) -> A x
  mesh_axis,     // mesh axis: collectives: between whose ranks
  mode,          // int: IndexMode of gather and scatter
  num_carry,     // int: scan, while_loop
  num_consts,    // int: scan, while_loop, and calls: leading operands without a derivative
  otherwise,     // graph: cond: what is computed where it is false
  out_axes,      // ints: convolution: the axes of group, batch, features and space
  packed,        // int (0/1): cholesky_cotangent: its operands lie in one matrix
  permutation,   // ints: transpose; ppermute: the rank whose array each rank gets, -1: zeros
  region,        // int: the checkpoint() that the node is in (any op)
  reverse,       // int (0/1): scan, cumsum and its kin: from the end; fft: the other sign of the exponent
  rhs_axes,      // ints: convolution: those of group, features of the result, features that are added up, window
  rhs_batch,     // ints
  rhs_contract,  // ints
  saveable,      // string: what of a region is kept for the backward pass: "", "*" (all), "*dots" or names (linear.h)
  shape,         // ints
  start,         // ints: slice; sort, argsort: one
  stride,        // ints: slice, convolution
  transposed,    // int (0/1): triangular_solve
  unit,          // int (0/1): triangular_solve: the diagonal is taken as ones
  value,         // double or int: constant
  vectors,       // int (0/1): eigh, svd: whether vectors are computed beside the values
};
std::string_view name(Attr);

/// IndexMode says how gather and scatter treat an index that is out of range after negative indices have counted from
/// the end. clamp_update is for scatter only: rows are clamped into range, as gather's clip reads, where the other
/// modes drop them. (It is the transpose of a clipped gather.)
enum class IndexMode : int64_t { clip = 0, fill_or_drop = 1, promise_in_bounds = 2, clamp_update = 3 };

using Ints = std::vector<int64_t>;
using AttrVariant = std::variant<int64_t, double, DType, Ints, std::string, GraphPtr, HostFunctionPtr, MeshAxisPtr>;
/// AttrValue is copied by the alternative that it holds: where memory runs out in the copy of a variant, libstdc++ 12
/// destroys an alternative that was never made, if all of them can be moved without an exception.
struct AttrValue : AttrVariant {
  using AttrVariant::variant;
  AttrValue() = default;
  AttrValue(const AttrValue& other)
      : AttrVariant(std::visit([](const auto& value) { return AttrVariant(value); }, other)) {}
  AttrValue(AttrValue&&) = default;
  AttrValue& operator=(const AttrValue& other) { return *this = AttrValue(other); }
  AttrValue& operator=(AttrValue&&) = default;
};

/// Attrs is a small sorted map from Attr to value. Copies share it until one of them changes.
class Attrs {
 public:
  using Items = std::vector<std::pair<Attr, AttrValue>>;

  Attrs() = default;
  Attrs(std::initializer_list<std::pair<Attr, AttrValue>> items);
  void set(Attr key, AttrValue value);
  void erase(Attr key);
  bool has(Attr key) const { return find(key) != nullptr; }
  int64_t integer(Attr key) const;
  int64_t integer_or(Attr key, int64_t otherwise) const;
  double real(Attr key) const;  // also of an int
  const Ints& ints(Attr key) const;
  DType dtype(Attr key) const;
  const std::string& string(Attr key) const;
  const GraphPtr& graph(Attr key) const;
  const HostFunctionPtr& function(Attr key) const;
  const MeshAxisPtr& mesh_axis() const;
  const AttrValue* find(Attr key) const;
  const Items& items() const;
  bool operator==(const Attrs&) const;  // sub-graphs compare by structure
  size_t hash() const;

 private:
  Items& own();

  std::shared_ptr<Items> items_;  // nullptr: none
};

struct Node {
  Op op;
  std::vector<ValueId> inputs;
  Attrs attrs;
  std::vector<ValueId> outputs;  // one, except control flow and calls
  std::source_location loc;

  ValueId out() const { return outputs[0]; }
};

struct Value {
  Aval aval;
  NodeId def = no_node;  // defining node, or no_node for a graph input
  int index = 0;         // which output of def, or which input of the graph
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  int num_captured = 0;  // the last inputs are captured arrays

  const Aval& aval(ValueId v) const { return values[v].aval; }
  std::vector<Aval> avals(const std::vector<ValueId>& of) const {
    std::vector<Aval> all;
    for (const ValueId v : of) all.push_back(aval(v));
    return all;
  }
  const Node* def(ValueId v) const { return values[v].def == no_node ? nullptr : &nodes[values[v].def]; }
  bool is(ValueId v, Op op) const { return def(v) && def(v)->op == op; }

  /// Appends an input of the given aval.
  ValueId add_input(Aval aval);
  /// Appends a node, and infers the avals of its outputs (throws ShapeError / DTypeError at `loc`).
  NodeId add_node(Op op, std::vector<ValueId> inputs, Attrs attrs, std::source_location loc);
  /// Does the same for an op with one output.
  ValueId add(Op op, std::vector<ValueId> inputs, Attrs attrs = {},
              std::source_location loc = std::source_location::current());
  /// Appends a constant of shape `shape` whose elements all equal `value`.
  ValueId constant(double value, DType dtype, Shape shape = {});

  bool operator==(const Graph&) const;  // structure, not locations or names
  size_t hash() const;
};

/// Returns the permutation that undoes one.
Ints inverse(const Ints& permutation);

/// Counts the uses of each value as a node input or a graph output.
std::vector<int> count_uses(const Graph& graph);
/// Returns the nodes that read each value (each node once, in ascending order); graph outputs do not count.
std::vector<std::vector<NodeId>> consumers(const Graph& graph);
/// Removes nodes whose outputs are never used, but for those with effects (trace/graph/effects.h). Inputs stay.
Graph eliminate_dead_code(const Graph& graph);

/// Writes the text form; parse(print(g)) == g. See trace/graph/print.cpp for the grammar.
std::string print(const Graph& graph);
Graph parse(std::string_view text);

/// Throws InternalError when the graph is malformed (order, arity, avals, attributes). In builds without NDEBUG the
/// planner calls it after each pass that rewrites the graph, and the jit before it compiles.
void verify(const Graph& graph);

}  // namespace neap::tracing
