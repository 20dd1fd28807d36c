#include <algorithm>
#include <map>
#include <span>

#include "backends/lower.h"
#include "core/check.h"

namespace neap::backends {

void add_store(ElementBuilder& elements, Kernel& kernel, int buffer, const IndexExpr& index, scalar::X value) {
  kernel.stores.push_back({buffer, elements.index().emit(index).id, value.id});
}

Kernel best_map(const planner::PlanStep& step, std::span<const DType> scratch, const Shape& shape,
                const StoreElements& store) {
  int divisions = 0;
  auto build = [&](int64_t rows, int64_t columns) {
    Kernel kernel = kernel_of(step, Kernel::Kind::map, scratch);
    kernel.extent = {rows, columns};
    ElementBuilder elements(step.group, kernel.dag);
    IndexAlgebra& index = elements.index();
    store(elements, index.add(index.scale(index.loop(0, rows), columns), index.loop(1, columns)), kernel);
    divisions = index.divisions();
    return kernel;
  };
  const int64_t count = element_count(shape);
  Kernel best = build(1, count);
  if (divisions == 0) return best;
  double best_cost = estimate(best, 1);
  int64_t rows = 1;
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    rows *= shape[axis];
    if (rows == count) break;
    Kernel kernel = build(rows, count / rows);
    const double cost = estimate(kernel, 1);
    if (cost < best_cost) {
      best_cost = cost;
      best = std::move(kernel);
    }
  }
  return best;
}

namespace {

// Pieces of a concatenate take a launch each and are written with fewer loads. No measurement is recorded.
constexpr int64_t kWorthALaunch = 4096;  // elements of the result, at least
constexpr int64_t kLongRun = 16;         // elements of each piece that lie together, at least: a vector's worth

// Whether an output is better written piece by piece: selects would load every element from all pieces at clamped
// places, which is quadratic in the number of pieces.
bool written_in_pieces(const tracing::Graph& graph, tracing::ValueId v) {
  if (!graph.is(v, tracing::Op::concatenate) || graph.aval(v).size() < kWorthALaunch) return false;
  const tracing::Node& node = *graph.def(v);
  const int64_t axis = node.attrs.integer(tracing::Attr::axis);
  return std::ranges::all_of(node.inputs, [&](tracing::ValueId piece) {
    const Shape& shape = graph.aval(piece).shape;
    const int64_t run = element_count(std::span(shape).subspan(axis));
    return run == 0 || run >= kLongRun;
  });
}

void lower_pieces(const planner::PlanStep& step, tracing::ValueId v, int buffer, std::vector<Launch>& launches) {
  const tracing::Graph& graph = step.group;
  const tracing::Node& node = *graph.def(v);
  const int64_t axis = node.attrs.integer(tracing::Attr::axis);
  int64_t begin = 0;
  for (const tracing::ValueId piece : node.inputs) {
    const Shape& shape = graph.aval(piece).shape;
    auto store = [&](ElementBuilder& elements, const IndexExpr& flat, Kernel& kernel) {
      IndexAlgebra& index = elements.index();
      const Coords from = index.unflatten(flat, shape);
      Coords to = from;
      to[axis] = index.add(to[axis], begin);
      add_store(elements, kernel, buffer, index.flatten(to, graph.aval(v).shape), elements.value(piece, from));
    };
    if (element_count(shape) > 0) launches.push_back(launch_of(best_map(step, {}, shape, store)));
    begin += shape[axis];
  }
}

}  // namespace

// Outputs with equally many elements share a kernel, and so every instruction they have in common.
std::vector<Launch> lower_map(const planner::PlanStep& step) {
  const tracing::Graph& graph = step.group;
  std::map<int64_t, std::vector<size_t>> by_count;
  std::vector<int64_t> order;
  std::vector<Launch> launches;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (written_in_pieces(graph, graph.outputs[i])) {
      lower_pieces(step, graph.outputs[i], static_cast<int>(graph.inputs.size() + i), launches);
      continue;
    }
    const int64_t count = graph.aval(graph.outputs[i]).size();
    if (count > 0 && by_count[count].empty()) order.push_back(count);
    by_count[count].push_back(i);
  }
  for (int64_t count : order) {
    const std::vector<size_t>& outputs = by_count[count];
    auto store = [&](ElementBuilder& elements, const IndexExpr& flat, Kernel& kernel) {
      for (size_t i : outputs) {
        const tracing::ValueId v = graph.outputs[i];
        const scalar::X x = elements.value(v, elements.index().unflatten(flat, graph.aval(v).shape));
        add_store(elements, kernel, static_cast<int>(graph.inputs.size() + i), flat, x);
      }
    };
    launches.push_back(launch_of(best_map(step, {}, graph.aval(graph.outputs[outputs[0]]).shape, store)));
  }
  return launches;
}

}  // namespace neap::backends
