#include "planner/kernels/windows.h"

#include <algorithm>

#include "trace/graph/window.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int64_t kMostSides = 6;  // of a window, for each of which a kernel is compiled

// Entry i of an integer vector, or the one entry of a scalar.
std::optional<int64_t> constant_at(const Graph& graph, ValueId v, int64_t i) {
  const Node* node = graph.def(v);
  if (!node) return std::nullopt;
  switch (node->op) {
    case Op::constant: {
      const auto* value = std::get_if<int64_t>(node->attrs.find(Attr::value));
      return value ? std::optional(*value) : std::nullopt;
    }
    case Op::concatenate:
      for (const ValueId part : node->inputs) {
        const int64_t n = graph.aval(part).size();
        if (i < n) return constant_at(graph, part, i);
        i -= n;
      }
      return std::nullopt;
    case Op::reshape: return constant_at(graph, node->inputs[0], i);
    case Op::broadcast_in_dim:
      return graph.aval(node->inputs[0]).size() == 1 ? constant_at(graph, node->inputs[0], 0) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Ints> known_start(const Graph& graph, const Node& update) {
  const Shape& whole = graph.aval(update.out()).shape;
  const Shape& window = graph.aval(update.inputs[1]).shape;
  Ints start;
  for (size_t d = 0; d < whole.size(); ++d) {
    const std::optional<int64_t> first = constant_at(graph, update.inputs[2], static_cast<int64_t>(d));
    if (!first) return std::nullopt;
    start.push_back(std::clamp<int64_t>(*first, 0, whole[d] - window[d]));
  }
  return start;
}

std::optional<Ints> start_written_apart(const Graph& group, ValueId v) {
  if (!group.is(v, Op::dynamic_update_slice) || group.outputs.size() != 1 || group.outputs[0] != v) return std::nullopt;
  const Node& node = *group.def(v);
  const Shape &whole = group.aval(v).shape, &window = group.aval(node.inputs[1]).shape;
  if (element_count(window) == 0 || !is_worth_writing_apart(whole, window)) return std::nullopt;
  std::optional<Ints> start = known_start(group, node);
  if (!start) return std::nullopt;
  int64_t sides = 0;
  for (size_t d = 0; d < whole.size(); ++d) {
    sides += ((*start)[d] > 0 ? 1 : 0) + ((*start)[d] + window[d] < whole[d] ? 1 : 0);
  }
  return sides <= kMostSides ? start : std::nullopt;
}

}  // namespace neap::planner
