#include "autodiff/linear.h"

#include <algorithm>

#include "autodiff/copier.h"
#include "autodiff/jvp.h"
#include "trace/op_table.h"

namespace neap::autodiff {

using trace::Node;
using trace::Op;

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

// Fills the unknown half, fetching the known values that it needs.
class UnknownHalf {
 public:
  UnknownHalf(const Graph& g, const std::vector<bool>& unknown, const std::function<bool(ValueId)>& keep)
      : g_(g), unknown_(unknown), keep_(keep), copy_(g) {}

  // Residuals must precede the unknown inputs, so they are found before anything is copied.
  std::vector<ValueId> find_residuals(const std::vector<ValueId>& outputs) {
    std::vector<ValueId> residuals;
    std::vector<bool> seen(g_.values.size(), false);
    const auto visit = [&](auto&& self, ValueId v) -> void {
      if (unknown_[v] || seen[v]) return;
      seen[v] = true;
      if (kept(v)) {
        residuals.push_back(v);
        return;
      }
      for (const ValueId operand : g_.def(v)->inputs) self(self, operand);
    };
    for (const Node& node : g_.nodes) {
      if (!unknown_[node.out()]) continue;
      for (const ValueId v : node.inputs) visit(visit, v);
    }
    for (const ValueId v : outputs) visit(visit, v);
    std::ranges::sort(residuals);
    return residuals;
  }

  Graph build(const std::vector<ValueId>& residuals, const std::vector<ValueId>& outputs) {
    for (const ValueId v : residuals) copy_.input(v);
    for (const ValueId v : g_.inputs)
      if (unknown_[v]) copy_.input(v);
    for (const Node& node : g_.nodes) {
      if (!unknown_[node.out()]) continue;
      for (const ValueId v : node.inputs) fetch(v);
      copy_.node(node);
    }
    for (const ValueId v : outputs) fetch(v);
    copy_.to.outputs = copy_.all(outputs);
    return std::move(copy_.to);
  }

 private:
  bool kept(ValueId v) const { return !g_.def(v) || keep_(v); }
  void fetch(ValueId v) {
    if (copy_.has(v)) return;
    for (const ValueId operand : g_.def(v)->inputs) fetch(operand);
    copy_.node(*g_.def(v));
  }

  const Graph& g_;
  const std::vector<bool>& unknown_;
  const std::function<bool(ValueId)>& keep_;
  Copier copy_;
};

}  // namespace

Split split(const Graph& g, const std::vector<bool>& unknown_inputs, const std::vector<bool>& forced,
            const std::function<bool(ValueId)>& keep) {
  const std::vector<bool> unknown = depends_on(g, unknown_inputs);
  Split result;
  std::vector<ValueId> unknown_outputs;
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    result.unknown_outputs.push_back(unknown[g.outputs[i]] || forced[i]);
    if (result.unknown_outputs[i]) unknown_outputs.push_back(g.outputs[i]);
  }
  UnknownHalf half(g, unknown, keep);
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
  result.known = trace::eliminate_dead_code(copy.to);
  return result;
}

Linearized linearize(const Graph& g, const std::vector<bool>& active) {
  const ActiveJvp both = jvp_active(g, active);
  std::vector<bool> unknown_inputs(both.graph.inputs.size(), false);
  std::fill(unknown_inputs.begin() + static_cast<std::ptrdiff_t>(g.inputs.size()), unknown_inputs.end(), true);
  const Graph pure = split_scans(trace::eliminate_dead_code(both.graph), unknown_inputs);

  // What is made of constants alone is not worth a residual.
  std::vector<bool> varies = depends_on(pure, std::vector<bool>(pure.inputs.size(), true));
  std::vector<bool> forced(pure.outputs.size(), false);
  std::fill(forced.begin() + static_cast<std::ptrdiff_t>(g.outputs.size()), forced.end(), true);
  Split halves = split(pure, unknown_inputs, forced, [&](ValueId v) { return varies[v]; });
  Linearized result{std::move(halves.known), std::move(halves.unknown), halves.residuals.size(), both.active};
  result.primal.num_captured = g.num_captured;
  return result;
}

}  // namespace neap::autodiff
