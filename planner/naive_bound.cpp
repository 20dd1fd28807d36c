#include "planner/naive_bound.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "planner/cost.h"
#include "planner/dot_scratch.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Whether a value of the node surely has bytes of its own.
bool is_stored(const Node& node) {
  switch (op_info(node.op).family) {
    case Family::leaf: return false;
    case Family::layout: return node.op != Op::reshape && node.op != Op::broadcast_in_dim && node.op != Op::transpose;
    default: return true;
  }
}

// Whether the node may write over operands that no other reads later.
bool may_reuse(Op op) {
  const Family family = op_info(op).family;
  return reads_same_index(op) || family == Family::scatter || family == Family::factor || family == Family::control ||
         op == Op::dynamic_update_slice;
}

// Whether the node's result is of what varies: what moves the elements of a constant is one.
bool is_variable(const Node& node, const std::vector<bool>& varies) {
  const Family family = op_info(node.op).family;
  const auto of = [&](ValueId v) { return varies[v]; };
  const bool moves = family == Family::gather || family == Family::layout;
  if (node.inputs.empty()) return false;
  return moves ? varies[node.inputs[0]] : std::ranges::any_of(node.inputs, of);
}

// What packing needs at least, whichever way round the product is computed.
size_t scratch_bytes(const Graph& graph, const Node& node) {
  if (node.op != Op::dot_general) return 0;
  const Aval& lhs = graph.aval(node.inputs[0]);
  DotForm form;
  form.dtype = lhs.dtype == DType::f64 ? DType::f64 : DType::f32;
  for (const int64_t axis : node.attrs.ints(Attr::lhs_batch)) form.batch *= lhs.shape[axis];
  for (const int64_t axis : node.attrs.ints(Attr::lhs_contract)) form.k *= lhs.shape[axis];
  const int64_t shared = form.batch * form.k;
  if (!is_float(lhs.dtype) || shared == 0) return 0;
  form.m = lhs.size() / shared;
  form.n = graph.aval(node.inputs[1]).size() / shared;
  if (std::min({form.m, form.n, form.k}) <= 1) return 0;  // a reduction
  DotForm swapped = form;
  std::swap(swapped.m, swapped.n);
  return std::min(dot_scratch_bytes(form), dot_scratch_bytes(swapped));
}

}  // namespace

size_t naive_peak_at_least(const Graph& graph, const Target& target) {
  const size_t values = graph.values.size();
  std::vector<bool> used(values, false), varies(values, false);
  for (const ValueId v : graph.outputs) used[v] = true;
  for (const ValueId v : graph.inputs) varies[v] = true;
  const auto is_needed = [&](const Node& node) {
    return std::ranges::any_of(node.outputs, [&](ValueId v) { return used[v] && varies[v]; });
  };
  for (const Node& node : graph.nodes) {
    const bool variable = is_variable(node, varies);
    for (const ValueId v : node.outputs) varies[v] = variable;
  }
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!is_needed(graph.nodes[i])) continue;
    for (const ValueId v : graph.nodes[i].inputs) used[v] = true;
  }
  // What each value is read from where it is a view, and the last node that needs it.
  const auto end = static_cast<NodeId>(graph.nodes.size());
  std::vector<ValueId> source(values);
  std::vector<NodeId> last(values, no_node);
  std::vector<size_t> bytes(values, 0);
  for (size_t v = 0; v < values; ++v) source[v] = static_cast<ValueId>(v);
  size_t held = 0, most = 0;
  for (const ValueId v : graph.inputs) held += round_up_64(graph.aval(v).bytes());
  for (NodeId id = 0; id < end; ++id) {
    const Node& node = graph.nodes[id];
    const bool view = node.op == Op::reshape || node.op == Op::broadcast_in_dim;
    for (const ValueId v : node.outputs) {
      if (view) source[v] = source[node.inputs[0]];
      if (used[v] && varies[v] && is_stored(node)) bytes[v] = round_up_64(graph.aval(v).bytes());
    }
    if (!is_needed(node)) continue;
    for (const ValueId v : node.inputs) last[source[v]] = id;
  }
  for (const ValueId v : graph.outputs) last[source[v]] = end;
  size_t live = held;
  for (NodeId id = 0; id < end; ++id) {
    const Node& node = graph.nodes[id];
    if (!is_needed(node)) continue;
    size_t made = 0, ended = 0;
    for (const ValueId v : node.outputs) made += bytes[v];
    for (const ValueId v : node.inputs) {
      if (last[source[v]] == id) ended += std::exchange(bytes[source[v]], 0);
    }
    live += made;
    const size_t scratch = target.gpu ? 0 : scratch_bytes(graph, node);
    most = std::max(most, live + scratch - (may_reuse(node.op) ? std::min(made, ended) : 0));
    live -= ended;
    for (const ValueId v : node.outputs) {
      if (last[v] == no_node) live -= std::exchange(bytes[v], 0);
    }
  }
  return std::max(most, held);
}

}  // namespace neap::planner
