#include <algorithm>
#include <map>
#include <span>

#include "backends/lower.h"
#include "core/check.h"
#include "planner/kernels/windows.h"
#include "trace/graph/window.h"

namespace neap::backends {

void add_store(ElementBuilder& elements, Kernel& kernel, int buffer, const IndexExpr& index, scalar::X value) {
  kernel.stores.push_back({buffer, elements.index().emit(index).id, value.id});
}

namespace {

// A last axis of so few elements (complex numbers, points in space) may be written whole by an iteration, where that is
// cheaper: by far, if there are more than a few, as shuffles of many registers cost more than the estimate says, and
// take long to compile (points of 8 numbers that are scaled: 0.9 of the time, compiled in 5 times as long; 8 arrays
// that are stacked: 0.3 of it; Zen 3).
constexpr int64_t kMostTogether = 8, kFew = 3;
constexpr double kByFar = 4;
// Code that is written once for each element of the axis: so many instructions, or not many more than without.
constexpr int64_t kLittleCode = 200;
constexpr double kSameCode = 1.5;
// Rows go along another axis than their last where lanes jump, for so many elements and rows along it: processors make
// tiles of them (200 x 200 x 200 with its axes reversed: 24 ms without, 5 with; Xeon).
constexpr int64_t kWorthTiles = 4096, kFewRows = 8;
constexpr size_t kNoAxis = SIZE_MAX;

int64_t last_extent(const Shape& shape) {
  const auto last = std::find_if(shape.rbegin(), shape.rend(), [](int64_t extent) { return extent > 1; });
  return last == shape.rend() ? 1 : *last;
}

// How many of the first axes have so many elements.
size_t axes_of(const Shape& shape, int64_t rows) {
  size_t axes = 0;
  for (int64_t before = 1; before < rows; ++axes) before *= shape[axes];
  return axes;
}

// The row-major index in `shape` of row number `row` of those in which `fastest` is the last axis.
IndexExpr reordered(IndexAlgebra& index, const IndexExpr& row, std::span<const int64_t> shape, size_t fastest) {
  Shape order(shape.begin(), shape.end());
  const auto at = static_cast<ptrdiff_t>(fastest);
  std::rotate(order.begin() + at, order.begin() + at + 1, order.end());
  Coords coords = index.unflatten(row, order);
  std::rotate(coords.begin() + at, coords.end() - 1, coords.end());
  return index.flatten(coords, shape);
}

// What lies side by side in one buffer is written by stores that follow each other.
std::vector<Store> by_buffer(const std::vector<Store>& stores) {
  std::map<int, std::vector<Store>> of;
  for (const Store& s : stores) of[s.buffer].push_back(s);
  std::vector<Store> sorted;
  for (const auto& [buffer, own] : of) sorted.insert(sorted.end(), own.begin(), own.end());
  return sorted;
}

// Lanes of random bits share work where they lie side by side (backends/cpu/analysis_lanes.cpp).
bool has_random_bits(const Kernel& kernel) {
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    if (kernel.dag[id].op == scalar::Opcode::mulhi) return true;
  }
  return false;
}

}  // namespace

Kernel best_map(const planner::PlanStep& step, std::span<const DType> scratch, const Shape& shape,
                const StoreElements& store, bool together) {
  int divisions = 0;
  // Rows go through their axes in their order but that axis `fastest`, if there is one, changes from row to row.
  auto build = [&](int64_t rows, int64_t columns, int64_t count, size_t fastest) {
    Kernel kernel = kernel_of(step, Kernel::Kind::map, scratch);
    kernel.extent = {rows, columns / count};
    ElementBuilder elements(step.group, kernel.dag);
    IndexAlgebra& index = elements.index();
    IndexExpr row = index.loop(0, rows);
    if (fastest != kNoAxis) row = reordered(index, row, std::span(shape).first(axes_of(shape, rows)), fastest);
    const IndexExpr first = index.add(index.scale(row, columns), index.scale(index.loop(1, columns / count), count));
    for (int64_t i = 0; i < count; ++i) store(elements, index.add(first, i), kernel);
    if (count > 1) kernel.stores = by_buffer(kernel.stores);
    divisions = index.divisions();
    return kernel;
  };
  const auto code = [](const Kernel& kernel) { return std::ranges::count(live_instructions(kernel), true); };
  const int64_t count = element_count(shape), last = last_extent(shape);
  Kernel best = build(1, count, 1, kNoAxis);
  if (divisions == 0) return best;
  int64_t best_each = 1;
  double best_cost = estimate(best, 1);
  together = together && 1 < last && last <= kMostTogether && count >= last * kRangeUnit && !has_random_bits(best);
  const double most_code =
      together ? std::max(static_cast<double>(kLittleCode), kSameCode * static_cast<double>(code(best))) : 0;
  const auto consider = [&](int64_t rows, int64_t each) {
    Kernel kernel = build(rows, count / rows, each, kNoAxis);
    if (each > 1 && static_cast<double>(code(kernel)) > most_code) return;
    const double cost = estimate(kernel, 1);
    if ((each > kFew ? kByFar : 1) * cost < best_cost) {
      best_cost = cost;
      best = std::move(kernel);
      best_each = each;
    }
  };
  const auto consider_all = [&](int64_t rows) {
    if (rows > 1) consider(rows, 1);
    if (together && count / rows >= last * kRangeUnit) consider(rows, last);
  };
  consider_all(1);
  int64_t rows = 1;
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    rows *= shape[axis];
    if (rows == count) break;
    consider_all(rows);
  }
  // What lanes find far apart may lie side by side for neighbouring rows, if they go along the right axis.
  const int64_t row_count = best.extent[0];
  int far = count >= kWorthTiles ? far_loads(best) : 0;
  for (size_t axis = 0, end = axes_of(shape, row_count); far > 0 && axis < end; ++axis) {
    if (shape[axis] < kFewRows) continue;
    Kernel kernel = build(row_count, count / row_count, best_each, axis);
    if (const int left = far_loads(kernel); left < far) {
      far = left;
      best = std::move(kernel);
    }
  }
  return best;
}

namespace {

// Pieces of a concatenation take a launch each and are written with fewer loads. No measurement of it is recorded; 100
// steps of a stencil on the inside of 2048 x 2048 elements take 108 ms in pieces, by selects 360.
constexpr int64_t kWorthALaunch = 4096;  // elements of the result, at least

// A box of an output, and the value that it is read from: at the coordinates that an element has in the box, or at
// those that it has in the output.
struct Piece {
  tracing::ValueId value;
  tracing::Ints first;
  Shape shape;
  bool at_output;
};

// The pieces of an output that is better written so: selects would load every element from all pieces at clamped
// places, which is quadratic in the number of pieces, and no vector loads what is clamped.
std::vector<Piece> pieces_of(const tracing::Graph& graph, tracing::ValueId v) {
  const Shape& whole = graph.aval(v).shape;
  std::vector<Piece> pieces;
  if (graph.is(v, tracing::Op::concatenate) && element_count(whole) >= kWorthALaunch) {
    const tracing::Node& node = *graph.def(v);
    const int64_t axis = node.attrs.integer(tracing::Attr::axis);
    tracing::Ints first(whole.size());
    for (const tracing::ValueId piece : node.inputs) {
      const Shape& shape = graph.aval(piece).shape;
      const int64_t run = element_count(std::span(shape).subspan(axis));
      if (run > 0 && run < tracing::kLongRun) return {};
      pieces.push_back({piece, first, shape, false});
      first[axis] += shape[axis];
    }
  }
  if (const std::optional<tracing::Ints> start = planner::start_written_apart(graph, v)) {
    const tracing::Node& node = *graph.def(v);
    const Shape& window = graph.aval(node.inputs[1]).shape;
    pieces.push_back({node.inputs[1], *start, window, false});
    // What lies before and behind the window along each axis, where it lies in it along those before.
    tracing::Ints first(whole.size());
    Shape rest = whole;
    for (size_t d = 0; d < whole.size(); ++d) {
      const int64_t end = (*start)[d] + window[d];
      for (const auto& [from, to] : {std::pair{int64_t{0}, (*start)[d]}, std::pair{end, whole[d]}}) {
        first[d] = from;
        rest[d] = to - from;
        pieces.push_back({node.inputs[0], first, rest, true});
      }
      first[d] = (*start)[d];
      rest[d] = window[d];
    }
  }
  return pieces;
}

void lower_piece(const planner::PlanStep& step, tracing::ValueId v, const Piece& piece, int buffer,
                 std::vector<Launch>& launches) {
  auto store = [&](ElementBuilder& elements, const IndexExpr& flat, Kernel& kernel) {
    IndexAlgebra& index = elements.index();
    const Coords in_box = index.unflatten(flat, piece.shape);
    Coords to = in_box;
    for (size_t d = 0; d < to.size(); ++d) to[d] = index.add(to[d], piece.first[d]);
    const scalar::X x = elements.value(piece.value, piece.at_output ? to : in_box);
    add_store(elements, kernel, buffer, index.flatten(to, step.group.aval(v).shape), x);
  };
  if (element_count(piece.shape) > 0) launches.push_back(launch_of(best_map(step, {}, piece.shape, store)));
}

}  // namespace

// Outputs with equally many elements share a kernel, and so every instruction they have in common.
std::vector<Launch> lower_map(const planner::PlanStep& step) {
  const tracing::Graph& graph = step.group;
  std::map<int64_t, std::vector<size_t>> by_count;
  std::vector<int64_t> order;
  std::vector<Launch> launches;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::vector<Piece> pieces = pieces_of(graph, graph.outputs[i]);
    for (const Piece& piece : pieces) {
      lower_piece(step, graph.outputs[i], piece, static_cast<int>(graph.inputs.size() + i), launches);
    }
    if (!pieces.empty()) continue;
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
    // A GPU without small types packs those that lie side by side.
    const bool is_wide =
        std::ranges::all_of(outputs, [&](size_t i) { return size_of(graph.aval(graph.outputs[i]).dtype) >= 4; });
    const Shape& shape = graph.aval(graph.outputs[outputs[0]]).shape;
    launches.push_back(launch_of(best_map(step, {}, shape, store, is_wide)));
  }
  return launches;
}

}  // namespace neap::backends
