#include "planner/kernels/counted_indices.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "planner/plan/graph_edit.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int kMostOps = 24;
constexpr int64_t kSmall = int64_t{1} << 31;  // the product of two such numbers fits

// Integers in [lo, hi] that are computed of their coordinates by so many operations.
struct Counted {
  int64_t lo = 0, hi = 0;
  int ops = 1;

  bool inside(int64_t low, int64_t high) const { return low <= lo && hi <= high; }
};

using Known = std::vector<std::optional<Counted>>;  // of each value

std::optional<Counted> arithmetic(Op op, const Counted& a, const Counted& b) {
  if (!a.inside(-kSmall, kSmall) || !b.inside(-kSmall, kSmall)) return std::nullopt;
  const int ops = a.ops + b.ops + 1;
  const bool by_constant = a.lo == a.hi || b.lo == b.hi;
  switch (op) {
    case Op::add: return Counted{a.lo + b.lo, a.hi + b.hi, ops};
    case Op::subtract: return Counted{a.lo - b.hi, a.hi - b.lo, ops};
    case Op::multiply: {
      const auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
      return by_constant ? std::optional(Counted{lo, hi, ops}) : std::nullopt;
    }
    case Op::maximum:
      return by_constant ? std::optional(Counted{std::max(a.lo, b.lo), std::max(a.hi, b.hi), ops}) : std::nullopt;
    case Op::minimum:
      return by_constant ? std::optional(Counted{std::min(a.lo, b.lo), std::min(a.hi, b.hi), ops}) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Counted> counted(const Graph& graph, const Node& node, const Known& known) {
  const Aval& aval = graph.aval(node.out());
  if (!is_integer(aval.dtype) || aval.size() == 0) return std::nullopt;
  switch (node.op) {
    case Op::constant: {
      const auto* value = std::get_if<int64_t>(node.attrs.find(Attr::value));
      return value && -kSmall <= *value && *value <= kSmall ? std::optional(Counted{*value, *value}) : std::nullopt;
    }
    case Op::iota: return Counted{0, aval.shape[node.attrs.integer(Attr::axis)] - 1};
    case Op::broadcast_in_dim:
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
    case Op::reverse:
    case Op::convert: {
      std::optional<Counted> x = known[node.inputs[0]];
      if (x) ++x->ops;
      return x;
    }
    case Op::concatenate: {  // of columns: of each index one
      if (node.attrs.integer(Attr::axis) != aval.ndim() - 1) return std::nullopt;
      std::optional<Counted> all = known[node.inputs[0]];
      for (const ValueId piece : node.inputs) {
        const auto& x = known[piece];
        if (!x || !all || graph.aval(piece).shape.back() != 1) return std::nullopt;
        all = Counted{std::min(all->lo, x->lo), std::max(all->hi, x->hi), std::max(all->ops, x->ops)};
      }
      ++all->ops;
      return all;
    }
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::maximum:
    case Op::minimum: {
      const auto &a = known[node.inputs[0]], &b = known[node.inputs[1]];
      return a && b ? arithmetic(node.op, *a, *b) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// Whether the type holds all of them, and they are few operations.
bool fits(const Counted& x, DType dtype) {
  return x.ops <= kMostOps && holds(dtype, x.hi) && (is_signed(dtype) ? x.lo >= 0 || holds(dtype, -x.lo) : x.lo >= 0);
}

bool exists(const Graph& graph, const Node& node, const Counted& x) {
  const Shape& operand = graph.aval(node.inputs[0]).shape;
  return std::ranges::all_of(node.attrs.ints(Attr::axes), [&](int64_t axis) { return x.inside(0, operand[axis] - 1); });
}

}  // namespace

std::vector<bool> counted_indices(const Graph& graph) {
  Known known(graph.values.size());
  for (const Node& node : graph.nodes) {
    if (node.outputs.size() != 1) continue;
    std::optional<Counted> x = counted(graph, node, known);
    if (x && fits(*x, graph.aval(node.out()).dtype)) known[node.out()] = x;
  }
  enum class Readers : uint8_t { none, indexed, others };
  std::vector<Readers> readers(graph.values.size(), Readers::none);
  for (const ValueId v : graph.outputs) readers[v] = Readers::others;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const Family family = op_info(node->op).family;
    const bool indexes = family == Family::gather || family == Family::scatter;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const ValueId v = node->inputs[i];
      if (!known[v]) continue;
      const bool part = node->outputs.size() == 1 && known[node->out()] && readers[node->out()] == Readers::indexed;
      const bool indexed = part || (indexes && i == 1 && exists(graph, *node, *known[v]));
      readers[v] = indexed && readers[v] != Readers::others ? Readers::indexed : Readers::others;
    }
  }
  std::vector<bool> result(graph.values.size());
  for (size_t v = 0; v < result.size(); ++v) result[v] = known[v] && readers[v] == Readers::indexed;
  return result;
}

}  // namespace neap::planner
