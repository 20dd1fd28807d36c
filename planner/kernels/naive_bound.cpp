#include "planner/kernels/naive_bound.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "planner/kernels/convolution.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/dot_scratch.h"
#include "planner/kernels/families.h"
#include "planner/plan/marks.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Whether a value of the node has bytes of its own.
bool is_stored(const Node& node) {
  const bool view = node.op == Op::reshape || node.op == Op::broadcast_in_dim;
  return !view && node.op != Op::constant && !has_mark(node, Mark::inner_product);
}

// Whether the node may write over operands that no other reads later.
bool may_reuse(Op op) { return traits(op).in_place || op == Op::dynamic_update_slice; }

// What packing needs at least, whichever way round the product is computed.
size_t scratch_bytes(const Graph& graph, const Node& node) {
  if (node.op == Op::convolution) return convolution_scratch_bytes(convolution_form(graph, node));
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
  // What each value is read from where it is a view, and the last node that needs it.
  const auto end = static_cast<NodeId>(graph.nodes.size());
  std::vector<ValueId> source(graph.values.size());
  std::iota(source.begin(), source.end(), 0);
  std::vector<NodeId> last(graph.values.size(), no_node);
  std::vector<size_t> bytes(graph.values.size(), 0);
  for (NodeId id = 0; id < end; ++id) {
    const Node& node = graph.nodes[id];
    if (node.op == Op::reshape || node.op == Op::broadcast_in_dim) source[node.out()] = source[node.inputs[0]];
    if (is_stored(node)) {
      for (const ValueId v : node.outputs) bytes[v] = round_up_64(graph.aval(v).bytes());
    }
    for (const ValueId v : node.inputs) last[source[v]] = id;
  }
  for (const ValueId v : graph.outputs) {
    if (graph.aval(v).size() > 0) last[source[v]] = end;  // a broadcast to no elements, which is stored, holds nothing
  }
  size_t live = 0;  // arguments are, to the end: naive writes over none, given or not
  for (const ValueId v : graph.inputs) live += round_up_64(graph.aval(v).bytes());
  size_t most = live;
  for (NodeId id = 0; id < end; ++id) {
    const Node& node = graph.nodes[id];
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
  return most;
}

}  // namespace neap::planner
