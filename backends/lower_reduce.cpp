#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "backends/lower.h"
#include "core/check.h"
#include "planner/kernels/partials.h"
#include "planner/plan/queries.h"
#include "trace/graph/op_table.h"

namespace neap::backends {
namespace {

using tracing::Attr;
using tracing::Graph;
using tracing::Node;
using tracing::Op;

Combine combine_of(Op op) {
  switch (op) {
    case Op::reduce_sum: return Combine::add;
    case Op::reduce_prod: return Combine::mul;
    case Op::reduce_max: return Combine::max;
    case Op::reduce_min: return Combine::min;
    case Op::reduce_any: return Combine::any;
    case Op::reduce_all: return Combine::all;
    case Op::reduce_xor: return Combine::bit_xor;
    case Op::argmax: return Combine::argmax;
    case Op::argmin: return Combine::argmin;
    default: break;
  }
  NEAP_CHECK(false, "{} is no reduction", tracing::name(op));
  __builtin_unreachable();
}

bool is_arg(Combine combine) { return combine == Combine::argmax || combine == Combine::argmin; }

// The axes that all of the step's outputs reduce, and what is common to them.
struct Loops {
  Shape shape;
  std::vector<bool> reduced;
  Shape kept_shape, reduced_shape;

  Loops(const Graph& graph, const Node& node) : Loops(node, graph.aval(node.inputs[0]).shape) {}
  Loops(const Node& node, const Shape& operand) : shape(operand), reduced(shape.size()) {
    if (is_arg(combine_of(node.op))) {
      reduced[node.attrs.integer(Attr::axis)] = true;
    } else {
      for (int64_t axis : node.attrs.ints(Attr::axes)) reduced[axis] = true;
    }
    for (size_t d = 0; d < shape.size(); ++d) (reduced[d] ? reduced_shape : kept_shape).push_back(shape[d]);
  }
  bool operator==(const Loops&) const = default;

  Coords coords(const Coords& kept, const Coords& inner) const {
    Coords out;
    size_t k = 0, r = 0;
    for (bool is_reduced : reduced) out.push_back(is_reduced ? inner[r++] : kept[k++]);
    return out;
  }
};

// The axes of `from` that became `axes` of `to` by a reshape that merges some and splits none.
std::optional<tracing::Ints> merged_axes(const Shape& from, const Shape& to, const tracing::Ints& axes) {
  tracing::Ints result;
  bool merges = false;
  for (int64_t axis = 0, at = 0; axis < std::ssize(to); ++axis) {
    const bool wanted = std::ranges::find(axes, axis) != axes.end();
    int64_t extent = 1, parts = 0;
    for (; at < std::ssize(from) && (extent < to[axis] || from[at] == 1); ++at) {
      extent *= from[at];
      if (from[at] == 1) continue;
      ++parts;
      if (wanted) result.push_back(at);
    }
    if (extent != to[axis]) return std::nullopt;
    merges |= parts > 1;
  }
  if (!merges) return std::nullopt;
  return result;
}

using Seen = std::set<std::pair<tracing::ValueId, tracing::Ints>>;

// Whether some value that the sum is made of, by cheap ops, varies along all reduced axes `axes` of `v`, and so lies
// side by side along them. Not so of outer products. Slices of the other axes have the same answer.
bool lies_along(const Graph& graph, tracing::ValueId v, const tracing::Ints& axes, Seen& seen) {
  if (std::ranges::find(axes, -1) != axes.end() || !seen.emplace(v, axes).second) return false;
  const Node* node = graph.def(v);
  if (!node) return true;
  switch (node->op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::negative:
    case Op::square:
    case Op::convert:
      return std::ranges::any_of(node->inputs, [&](tracing::ValueId x) { return lies_along(graph, x, axes, seen); });
    case Op::broadcast_in_dim: {
      const tracing::Ints& to = node->attrs.ints(Attr::axes);
      tracing::Ints source;
      for (const int64_t axis : axes) {
        const auto at = std::ranges::find(to, axis) - to.begin();
        const bool varies = at < std::ssize(to) && graph.aval(node->inputs[0]).shape[at] == graph.aval(v).shape[axis];
        source.push_back(varies ? at : -1);
      }
      return lies_along(graph, node->inputs[0], source, seen);
    }
    case Op::transpose: {
      tracing::Ints source;
      for (const int64_t axis : axes) source.push_back(node->attrs.ints(Attr::permutation)[axis]);
      return lies_along(graph, node->inputs[0], source, seen);
    }
    case Op::reshape: {
      const std::optional<tracing::Ints> source =
          merged_axes(graph.aval(node->inputs[0]).shape, graph.aval(v).shape, axes);
      return !source || lies_along(graph, node->inputs[0], *source, seen);
    }
    default: return true;
  }
}

// The level with lanes: along what lies side by side, and where a short loop wastes none. It decides in which order a
// sum is added up: that of floats depends on the shape of the whole operand alone, as if it were stored, and not on
// slices of it or on what is computed on the way; but lanes along the rows are much faster for outer products.
int vector_level_of(const Graph& graph, const Kernel& kernel) {
  const auto in_order = [&](tracing::ValueId v) {
    return graph.def(v)->inputs.size() == 2 || planner::adds_in_order(graph, *graph.def(v));
  };
  if (std::ranges::any_of(graph.outputs, in_order)) return 0;
  for (const tracing::ValueId v : graph.outputs) {
    const Node& node = *graph.def(v);
    if ((node.op != Op::reduce_sum && node.op != Op::reduce_prod) || !is_float(graph.aval(v).dtype)) continue;
    const Loops loops(
        node, node.attrs.has(Attr::full_shape) ? node.attrs.ints(Attr::full_shape) : graph.aval(node.inputs[0]).shape);
    Kernel plain;
    plain.kind = Kernel::Kind::reduce;
    plain.extent = {element_count(loops.kept_shape), element_count(loops.reduced_shape)};
    if (plain.extent[0] == 0 || plain.extent[1] == 0) return 1;
    // Where a sum is rounded from f64 another order almost never shows.
    if (planner::accumulator_of(graph, node) != graph.aval(v).dtype && plain.extent[0] >= planner::kManyRows) {
      tracing::Ints axes;
      Seen seen;
      for (const int64_t axis : node.attrs.ints(Attr::axes)) {
        if (loops.shape[axis] > 1) axes.push_back(axis);
      }
      if (!lies_along(graph, node.inputs[0], axes, seen)) return 0;
    }
    IndexAlgebra index(plain.dag);
    const IndexExpr at =
        index.flatten(loops.coords(index.unflatten(index.loop(0, plain.extent[0]), loops.kept_shape),
                                   index.unflatten(index.loop(1, plain.extent[1]), loops.reduced_shape)),
                      loops.shape);
    const scalar::X value = plain.dag.convert(plain.dag.load(0, DType::f32, index.emit(at)), DType::f64);
    plain.reductions.push_back({combine_of(node.op), value.id, DType::f64, DType::f32, 1});
    return estimate(plain, 0) < estimate(plain, 1) ? 0 : 1;
  }
  return estimate(kernel, 0) < estimate(kernel, 1) ? 0 : 1;
}

// The rows of the whole of which the step is a slice; 0: it is the whole.
int64_t whole_rows(const Graph& graph) {
  int64_t rows = 0;
  for (const tracing::ValueId v : graph.outputs) {
    if (graph.def(v)->attrs.has(Attr::full_shape)) rows = std::max(rows, planner::whole_rows(graph, *graph.def(v)));
  }
  return rows;
}

// The buffer of what the reduction begins with; -1: nothing.
int initial_of(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2) return -1;
  const tracing::ValueId v = planner::view_root(graph, node.inputs[1]);
  NEAP_CHECK(!graph.def(v), "{} begins with what is not stored", tracing::name(node.op));
  return graph.values[v].index;
}

Kernel reduction_kernel(const planner::PlanStep& step, const Loops& loops, std::span<const DType> accumulators,
                        bool finish) {
  const Graph& graph = step.group;
  Kernel kernel = kernel_of(step, Kernel::Kind::reduce, finish ? std::span<const DType>{} : accumulators);
  kernel.finish = finish;
  kernel.extent = {element_count(loops.kept_shape), element_count(loops.reduced_shape)};
  kernel.whole_rows = whole_rows(graph);
  ElementBuilder elements(graph, kernel.dag);
  IndexAlgebra& index = elements.index();
  const bool empty = kernel.extent[1] == 0;  // then nothing is evaluated
  Coords coords;
  if (!empty) {
    coords = loops.coords(index.unflatten(index.loop(0, kernel.extent[0]), loops.kept_shape),
                          index.unflatten(index.loop(1, kernel.extent[1]), loops.reduced_shape));
  }
  const size_t first = graph.inputs.size() + (finish ? 0 : graph.outputs.size());
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Node& node = *graph.def(graph.outputs[i]);
    const DType type = accumulators[i];
    const scalar::X value =
        empty ? kernel.dag.constant_bits(0, type) : kernel.dag.convert(elements.value(node.inputs[0], coords), type);
    kernel.reductions.push_back({combine_of(node.op), value.id, type, graph.aval(graph.outputs[i]).dtype,
                                 static_cast<int>(first + i), initial_of(graph, node)});
  }
  kernel.vector_level = vector_level_of(graph, kernel);
  return kernel;
}

// Combines the accumulators [partials, kept] of each output, in the order of the partials.
Kernel combining_kernel(const planner::PlanStep& step, const Kernel& partial, std::span<const DType> accumulators) {
  const Graph& graph = step.group;
  Kernel kernel = kernel_of(step, Kernel::Kind::reduce, accumulators);
  kernel.extent = {partial.extent[0], step.partials};
  kernel.whole_rows = partial.whole_rows;
  IndexAlgebra index(kernel.dag);
  const IndexExpr at =
      index.add(index.scale(index.loop(1, step.partials), kernel.extent[0]), index.loop(0, kernel.extent[0]));
  for (size_t i = 0; i < partial.reductions.size(); ++i) {
    Reduction reduction = partial.reductions[i];
    reduction.value = kernel.dag.load(reduction.buffer, reduction.accumulator, index.emit(at)).id;
    reduction.buffer = static_cast<int>(graph.inputs.size() + i);
    kernel.reductions.push_back(reduction);
  }
  kernel.vector_level = estimate(kernel, 0) < estimate(kernel, 1) ? 0 : 1;
  return kernel;
}

}  // namespace

std::vector<Launch> lower_reduce(const planner::PlanStep& step) {
  const Graph& graph = step.group;
  std::vector<DType> accumulators;
  bool in_partials = step.partials > 1;
  std::optional<Loops> loops;
  for (tracing::ValueId v : graph.outputs) {
    const Node* node = graph.def(v);
    NEAP_CHECK(node, "{}: an output that is an input", step.op);
    const Loops own(graph, *node);
    if (!loops) loops = own;
    NEAP_CHECK(own == *loops, "{}: reductions over different axes", step.op);
    const Combine combine = combine_of(node->op);
    accumulators.push_back(planner::accumulator_of(graph, *node));
    in_partials = in_partials && !is_arg(combine);  // a partial argmax would need its index beside it
  }
  if (!loops || element_count(loops->kept_shape) == 0) return {};
  std::vector<Launch> launches;
  launches.push_back(launch_of(reduction_kernel(step, *loops, accumulators, !in_partials)));
  if (in_partials) {
    launches.back().partials = step.partials;
    launches.push_back(launch_of(combining_kernel(step, launches[0].kernel, accumulators)));
  }
  return launches;
}

}  // namespace neap::backends
