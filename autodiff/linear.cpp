#include "autodiff/linear.h"

#include <algorithm>

#include "autodiff/copier.h"
#include "autodiff/jvp.h"
#include "autodiff/linear_control.h"
#include "autodiff/min_cut.h"
#include "trace/graph/effects.h"
#include "trace/graph/op_table.h"

namespace neap::autodiff {

using tracing::Attr;
using tracing::Node;
using tracing::Op;

std::vector<bool> depends_on(const Graph& g, const std::vector<bool>& inputs) {
  NEAP_CHECK(inputs.size() == g.inputs.size(), "{} marks for {} inputs", inputs.size(), g.inputs.size());
  std::vector<bool> depends(g.values.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) depends[g.inputs[i]] = inputs[i];
  for (const Node& node : g.nodes) {
    if (std::ranges::none_of(node.inputs, [&](ValueId v) { return depends[v]; })) continue;
    for (const ValueId v : node.outputs) depends[v] = true;
  }
  return depends;
}

namespace {

constexpr size_t kMostNodes = 5000;  // of graphs of which the cheapest residuals are sought

// Returns whether the node is such a node; for a call, whether a result of its body comes from one.
bool gives(const Node& node, const std::function<bool(const Node&)>& such) {
  if (tracing::op_info(node.op).family != tracing::Family::call || !node.attrs.has(Attr::body)) return such(node);
  const Graph& body = *node.attrs.graph(Attr::body);
  return std::ranges::any_of(body.outputs, [&](ValueId v) { return body.def(v) && gives(*body.def(v), such); });
}

// Returns whether the policy of the node's checkpoint() keeps its results.
bool is_saveable(const Node& node) {
  const std::string& policy = node.attrs.string(Attr::saveable);
  if (policy == kSaveEverything) return true;
  if (policy.empty()) return false;
  if (policy == kSaveDots)
    return gives(node, [](const Node& n) { return n.op == Op::dot_general || n.op == Op::convolution; });
  return gives(node, [&](const Node& n) {
    return n.attrs.has(Attr::label) &&
           ("," + policy + ",").find("," + n.attrs.string(Attr::label) + ",") != std::string::npos;
  });
}

// UnknownHalf builds the unknown half, and fetches the known values that it needs.
class UnknownHalf {
 public:
  UnknownHalf(const Graph& g, const std::vector<bool>& unknown, const std::function<Worth(ValueId)>& worth,
              const std::function<int64_t(ValueId)>& cost)
      : g_(g),
        unknown_(unknown),
        worth_(worth),
        cost_(cost),
        needed_(g.values.size(), Need::no),
        named_(g.values.size(), false),
        copy_(g) {}

  // Residuals must precede the unknown inputs, so they are found before anything is copied.
  std::vector<ValueId> find_residuals(const std::vector<ValueId>& outputs) {
    // What checkpoint_name() was given is what it gave.
    for (const Node& node : g_.nodes)
      if (node.attrs.has(Attr::label) && node.attrs.has(Attr::region) && is_saveable(node))
        named_[node.inputs[0]] = true;
    for (const ValueId v : outputs) need(v, nullptr);
    for (auto node = g_.nodes.rbegin(); node != g_.nodes.rend(); ++node) {
      if (!unknown_[node->out()] && !is_fetched(*node)) continue;
      for (const ValueId v : node->inputs) need(v, &*node);
    }
    if (cost_ && g_.nodes.size() <= kMostNodes && !in_regions()) keep_cheapest(outputs);
    std::vector<ValueId> residuals;
    for (size_t v = 0; v < needed_.size(); ++v)
      if (needed_[v] == Need::kept) residuals.push_back(static_cast<ValueId>(v));
    return residuals;
  }

  Graph build(const std::vector<ValueId>& residuals, const std::vector<ValueId>& outputs) {
    for (const ValueId v : residuals) copy_.input(v);
    for (const ValueId v : g_.inputs)
      if (unknown_[v]) copy_.input(v);
    for (const Node& node : g_.nodes) {
      if (unknown_[node.out()]) {
        copy_.node(node);
      } else if (is_fetched(node)) {
        Node again = tracing::without_effects(node);
        if (again.attrs.has(Attr::region)) again.attrs.set(Attr::copy, node.attrs.integer_or(Attr::copy, 0) + 1);
        copy_.node(again, [&](ValueId v) { return needed_[v] == Need::again; });
      }
    }
    copy_.to.outputs = copy_.all(outputs);
    return std::move(copy_.to);
  }

 private:
  enum class Need : uint8_t { no, again, kept };

  void need(ValueId v, const Node* reader) {
    if (unknown_[v]) return;
    needed_[v] = std::max(needed_[v], kept(v, reader) ? Need::kept : Need::again);
  }
  bool kept(ValueId v, const Node* reader) const {
    const Node* node = g_.def(v);
    if (!node || (tracing::has_effects(*node) && tracing::has_effects(tracing::without_effects(*node)))) return true;
    const Worth worth = worth_(v);
    const int64_t region = node->attrs.integer_or(Attr::region, -1);
    if (worth == Worth::nothing || region < 0 || !reader || reader->attrs.integer_or(Attr::region, -1) != region)
      return worth == Worth::residual;
    return is_saveable(*node) || named_[v];
  }
  bool in_regions() const {
    return std::ranges::any_of(g_.nodes, [](const Node& node) { return node.attrs.has(Attr::region); });
  }
  // Keeps, of what was found and of what is rematerialized from that, the values that cost least and give all the rest.
  void keep_cheapest(const std::vector<ValueId>& outputs) {
    const size_t count = g_.values.size();
    CutProblem problem{std::vector<int64_t>(count, 0), std::vector<std::vector<int>>(count),
                       std::vector<bool>(count, false), std::vector<bool>(count, false)};
    for (size_t v = 0; v < count; ++v) {
      problem.source[v] = needed_[v] == Need::kept;
      if (needed_[v] != Need::no) problem.cost[v] = cost_(static_cast<ValueId>(v));
    }
    for (const ValueId v : outputs) problem.sink[v] = !unknown_[v];
    for (const Node& node : g_.nodes) {
      const bool again = is_fetched(node);
      for (const ValueId x : node.inputs) {
        if (unknown_[x]) continue;
        if (unknown_[node.out()]) problem.sink[x] = true;
        if (!again) continue;
        for (const ValueId v : node.outputs)
          if (needed_[v] == Need::again) problem.successors[x].push_back(v);
      }
    }
    const std::vector<bool> cut = min_vertex_cut(problem);
    std::ranges::fill(needed_, Need::no);
    const auto name = [&](ValueId v) { needed_[v] = cut[v] ? Need::kept : Need::again; };
    for (size_t v = 0; v < count; ++v)
      if (problem.sink[v]) name(static_cast<ValueId>(v));
    for (auto node = g_.nodes.rbegin(); node != g_.nodes.rend(); ++node) {
      if (unknown_[node->out()] || !is_fetched(*node)) continue;
      for (const ValueId v : node->inputs) name(v);
    }
  }
  // Returns whether the known node runs again in this half.
  bool is_fetched(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ValueId v) { return needed_[v] == Need::again; });
  }

  const Graph& g_;
  const std::vector<bool>& unknown_;
  const std::function<Worth(ValueId)>& worth_;
  const std::function<int64_t(ValueId)>& cost_;
  std::vector<Need> needed_;  // of known values
  std::vector<bool> named_;   // has a name that is kept
  Copier copy_;
};

}  // namespace

Split split(const Graph& g, const std::vector<bool>& unknown_inputs, const std::vector<bool>& forced,
            const std::function<Worth(ValueId)>& worth, const std::function<int64_t(ValueId)>& cost) {
  const std::vector<bool> unknown = depends_on(g, unknown_inputs);
  Split result;
  std::vector<ValueId> unknown_outputs;
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    result.unknown_outputs.push_back(unknown[g.outputs[i]] || forced[i]);
    if (result.unknown_outputs[i]) unknown_outputs.push_back(g.outputs[i]);
  }
  UnknownHalf half(g, unknown, worth, cost);
  result.residuals = half.find_residuals(unknown_outputs);
  result.unknown = half.build(result.residuals, unknown_outputs);

  Copier copy(g);
  for (const ValueId v : g.inputs)
    if (!unknown[v]) copy.input(v);
  for (const Node& node : g.nodes)
    if (!unknown[node.out()]) copy.node(node);
  for (size_t i = 0; i < g.outputs.size(); ++i)
    if (!result.unknown_outputs[i]) copy.to.outputs.push_back(copy[g.outputs[i]]);
  for (const ValueId v : result.residuals) copy.to.outputs.push_back(copy[v]);
  result.known = tracing::eliminate_dead_code(copy.to);
  return result;
}

Linearized linearize(const Graph& g, const std::vector<bool>& active) {
  const ActiveJvp both = jvp_active(g, active);
  std::vector<bool> unknown_inputs(both.graph.inputs.size(), false);
  std::fill(unknown_inputs.begin() + static_cast<std::ptrdiff_t>(g.inputs.size()), unknown_inputs.end(), true);
  const Graph pure = split_control(tracing::eliminate_dead_code(both.graph), unknown_inputs);

  // Values made of constants alone are not worth a residual.
  std::vector<bool> varies = depends_on(pure, std::vector<bool>(pure.inputs.size(), true));
  std::vector<bool> forced(pure.outputs.size(), false);
  std::fill(forced.begin() + static_cast<std::ptrdiff_t>(g.outputs.size()), forced.end(), true);
  Split halves =
      split(pure, unknown_inputs, forced, [&](ValueId v) { return varies[v] ? Worth::residual : Worth::nothing; });
  Linearized result{std::move(halves.known), std::move(halves.unknown), halves.residuals.size(), both.active};
  result.primal.num_captured = g.num_captured;
  return result;
}

}  // namespace neap::autodiff
