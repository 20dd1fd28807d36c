#include "backends/lower.h"
#include "core/check.h"
#include "trace/op_table.h"

namespace neap::backends {
namespace {

using trace::Attr;
using trace::Graph;
using trace::Node;
using trace::Op;

Combine combine_of(Op op) {
  switch (op) {
    case Op::reduce_sum: return Combine::add;
    case Op::reduce_prod: return Combine::mul;
    case Op::reduce_max: return Combine::max;
    case Op::reduce_min: return Combine::min;
    case Op::reduce_any: return Combine::any;
    case Op::reduce_all: return Combine::all;
    case Op::argmax: return Combine::argmax;
    case Op::argmin: return Combine::argmin;
    default: break;
  }
  NEAP_CHECK(false, "{} is no reduction", trace::name(op));
  __builtin_unreachable();
}

bool is_arg(Combine combine) { return combine == Combine::argmax || combine == Combine::argmin; }

DType accumulator_of(Combine combine, DType value) {
  if (value == f16 || value == bf16) value = f32;
  if (combine != Combine::add && combine != Combine::mul) return value;
  return is_float(value) ? f64 : is_signed(value) ? i64 : u64;
}

// The axes that all of the step's outputs reduce, and what is common to them.
struct Loops {
  Shape shape;
  std::vector<bool> reduced;
  Shape kept_shape, reduced_shape;

  Loops(const Graph& graph, const Node& node) : shape(graph.aval(node.inputs[0]).shape), reduced(shape.size()) {
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

// Lanes along the loop where the loads lie side by side, and where a short loop wastes none.
void choose_vector_level(Kernel& kernel) { kernel.vector_level = estimate(kernel, 0) < estimate(kernel, 1) ? 0 : 1; }

Kernel reduction_kernel(const planner::PlanStep& step, const Loops& loops, std::span<const DType> accumulators,
                        bool finish) {
  const Graph& graph = step.group;
  Kernel kernel = kernel_of(step, Kernel::Kind::reduce, finish ? std::span<const DType>{} : accumulators);
  kernel.finish = finish;
  kernel.extent = {element_count(loops.kept_shape), element_count(loops.reduced_shape)};
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
    kernel.reductions.push_back(
        {combine_of(node.op), value.id, type, graph.aval(graph.outputs[i]).dtype, static_cast<int>(first + i)});
  }
  choose_vector_level(kernel);
  return kernel;
}

// Combines the accumulators [parts, kept] of each output, in the order of the parts.
Kernel combining_kernel(const planner::PlanStep& step, const Kernel& partial, std::span<const DType> accumulators) {
  const Graph& graph = step.group;
  Kernel kernel = kernel_of(step, Kernel::Kind::reduce, accumulators);
  kernel.extent = {partial.extent[0], step.parts};
  IndexAlgebra index(kernel.dag);
  const IndexExpr at =
      index.add(index.scale(index.loop(1, step.parts), kernel.extent[0]), index.loop(0, kernel.extent[0]));
  for (size_t i = 0; i < partial.reductions.size(); ++i) {
    Reduction reduction = partial.reductions[i];
    reduction.value = kernel.dag.load(reduction.buffer, reduction.accumulator, index.emit(at)).id;
    reduction.buffer = static_cast<int>(graph.inputs.size() + i);
    kernel.reductions.push_back(reduction);
  }
  choose_vector_level(kernel);
  return kernel;
}

}  // namespace

std::vector<Launch> lower_reduce(const planner::PlanStep& step) {
  const Graph& graph = step.group;
  std::vector<DType> accumulators;
  bool in_parts = step.parts > 1;
  std::optional<Loops> loops;
  for (trace::ValueId v : graph.outputs) {
    const Node* node = graph.def(v);
    NEAP_CHECK(node, "{}: an output that is an input", step.op);
    const Loops own(graph, *node);
    if (!loops) loops = own;
    NEAP_CHECK(own == *loops, "{}: reductions over different axes", step.op);
    const Combine combine = combine_of(node->op);
    accumulators.push_back(accumulator_of(combine, graph.aval(node->inputs[0]).dtype));
    in_parts = in_parts && !is_arg(combine);  // a partial argmax would need its index beside it
  }
  if (!loops || element_count(loops->kept_shape) == 0) return {};
  std::vector<Launch> launches;
  launches.push_back(launch_of(reduction_kernel(step, *loops, accumulators, !in_parts)));
  if (in_parts) {
    launches.back().parts = step.parts;
    launches.push_back(launch_of(combining_kernel(step, launches[0].kernel, accumulators)));
  }
  return launches;
}

}  // namespace neap::backends
