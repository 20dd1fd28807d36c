#include "planner/slice/split_scan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "planner/slice/partial_sums.h"
#include "trace/graph/effects.h"
#include "trace/graph/loop.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// What came of loops inside the one that is cut, by what was known of their inputs and outputs; null: they mix the
// batch. Each loop asks several times for those inside it: without this, nests would take time that is exponential in
// their depth.
using Known = std::map<std::tuple<const Node*, std::vector<Cut>, std::vector<Cut>>, std::shared_ptr<const ScanCut>>;

// What is wanted of a value only grows, as do the outputs that are known: each pair of a value and a cut is wanted
// once, of a value of the body as many cuts as readers ask for, and an output goes from kUnused to its cut or to kAfter
// once. So run() comes to an end; a loop inside is asked again only when what is known of its inputs or outputs has
// changed.
class ScanCutter {
 public:
  ScanCutter(const Node& node, int64_t extent, Known& known)
      : body_(*node.attrs.graph(Attr::body)),
        extent_(extent),
        known_(known),
        consts_(LoopLayout(node.attrs).consts),
        carries_(LoopLayout(node.attrs).carries) {
    result_.wanted.resize(body_.values.size());
    result_.outputs.assign(body_.outputs.size(), kUnused);
  }

  std::optional<ScanCut> run(const std::vector<Cut>& inputs, const std::vector<Cut>& outputs) {
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o] != kUnused && !set_output(o, outputs[o])) return std::nullopt;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kUnused) continue;
      if (!(is_carry(i) ? set_output(i - consts_, inputs[i]) : want(body_.inputs[i], inputs[i]))) return std::nullopt;
    }
    for (bool changed = true; changed;) {
      if (!drain() || !flow()) return std::nullopt;
      if (!pending_.empty()) continue;  // loops inside ask for more
      changed = false;
      for (size_t o = 0; o < body_.outputs.size(); ++o) {
        if (!agree(o, changed)) return std::nullopt;
      }
    }
    if (!follow()) return std::nullopt;
    for (const ValueId v : body_.inputs) result_.inputs.push_back(form_of(v));
    return std::move(result_);
  }

 private:
  bool is_carry(size_t input) const { return input >= consts_ && input < consts_ + carries_; }

  // In which form the body has an input: whole where some reader needs all of it.
  Cut form_of(ValueId v) const {
    const std::vector<Cut>& wanted = result_.wanted[v];
    if (wanted.empty()) return kUnused;
    return wanted.size() == 1 ? wanted[0] : kWhole;
  }

  bool set_output(size_t o, Cut cut) {
    if (cut == kAfter || (result_.outputs[o] != kUnused && result_.outputs[o] != cut)) return false;
    result_.outputs[o] = cut;
    return want(body_.outputs[o], cut) && (o >= carries_ || want(body_.inputs[consts_ + o], cut));
  }

  bool want(ValueId v, Cut cut) {
    if (cut != kWhole) {
      const Shape& shape = body_.aval(v).shape;
      if (!cut.is_slices() || cut.axis >= std::ssize(shape) || shape[cut.axis] != extent_ * cut.block) return false;
    }
    std::vector<Cut>& wanted = result_.wanted[v];
    if (std::ranges::find(wanted, cut) != wanted.end()) return true;
    wanted.push_back(cut);
    pending_.emplace_back(v, cut);
    return true;
  }

  // Operands of what is wanted are wanted.
  bool drain() {
    while (!pending_.empty()) {
      const auto [v, cut] = pending_.back();
      pending_.pop_back();
      ++result_.visits;
      const Node* node = body_.def(v);
      if (!node) {
        const auto i = static_cast<size_t>(body_.values[v].index);
        if (is_carry(i) && (result_.wanted[v].size() > 1 || !set_output(i - consts_, cut))) return false;
      } else if (node->op == Op::scan) {
        if (!update(*node)) return false;
      } else if (cut != kWhole && op_info(node->op).family == Family::control) {
        return false;
      } else {
        if (cut != kWhole) result_.unit = std::lcm(result_.unit, slice_unit(body_, *node, cut));
        for (size_t i = 0; i < node->inputs.size(); ++i) {
          if (!want(node->inputs[i], cut == kWhole ? kWhole : operand_cut(body_, *node, cut, i))) return false;
        }
      }
    }
    return true;
  }

  // A loop inside, from what is known of its operands and results.
  bool update(const Node& node) {
    const NodeId id = body_.values[node.outputs[0]].def;
    std::vector<Cut> inputs, outputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Cut cut = state_.empty() ? kWhole : state_[node.inputs[i]];
      if (cut == kAfter || cut == kImpossible) return true;  // it runs after the slices, or cannot be: flow() says so
      if (cut.is_slices() && is_stacked_input(node, i)) cut = unstacked_cut(cut);
      if (cut == kImpossible) return true;
      inputs.push_back(cut.is_slices() ? cut : kUnused);
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const std::vector<Cut>& wanted = result_.wanted[node.outputs[o]];
      if (wanted.size() > 1) return false;
      Cut cut = wanted.empty() ? kUnused : wanted[0];
      if (cut.is_slices() && is_stacked_output(node, o)) cut = unstacked_cut(cut);
      if (cut == kImpossible) return false;
      outputs.push_back(cut);
    }
    auto& seeds = seeds_[id];
    const bool needed = std::ranges::any_of(outputs, [](Cut cut) { return cut != kUnused; });
    if (seeds == std::pair(inputs, outputs)) return result_.scans[id] || !needed;
    seeds = {inputs, outputs};
    const std::shared_ptr<const ScanCut> inner = cut_inner(node, inputs, outputs);
    result_.scans[id] = inner;
    if (!inner) return !needed;
    result_.unit = std::lcm(result_.unit, inner->unit);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Cut cut = inner->inputs[i];
      if (cut == kUnused) continue;
      if (!want(node.inputs[i], cut.is_slices() && is_stacked_input(node, i) ? stacked_cut(cut) : cut)) return false;
    }
    return true;
  }

  std::shared_ptr<const ScanCut> cut_inner(const Node& node, const std::vector<Cut>& inputs,
                                           const std::vector<Cut>& outputs) {
    const auto [it, unknown] = known_.try_emplace({&node, inputs, outputs});
    if (!unknown) return it->second;
    if (std::optional<ScanCut> inner = ScanCutter(node, extent_, known_).run(inputs, outputs)) {
      result_.visits += inner->visits;
      it->second = std::make_shared<const ScanCut>(*std::move(inner));
    }
    return it->second;
  }

  // What becomes of every value, forwards from the slices of inputs: a cut; kWhole, which no slice comes into; kAfter;
  // kImpossible.
  bool flow() {
    state_.assign(body_.values.size(), kWhole);
    for (size_t i = 0; i < body_.inputs.size(); ++i) {
      const ValueId v = body_.inputs[i];
      if (is_carry(i) && result_.outputs[i - consts_] == kAfter) {
        if (!result_.wanted[v].empty()) return false;
        state_[v] = kAfter;
      } else if (form_of(v).is_slices()) {
        state_[v] = form_of(v);
      }
    }
    for (const Node& node : body_.nodes) {
      ++result_.visits;
      if (node.op == Op::scan) {
        if (!flow_through(node)) return false;
      } else {
        set_states(node, state_of(node));
      }
    }
    return true;
  }

  bool flow_through(const Node& node) {
    const auto any = [&](auto&& is) {
      return std::ranges::any_of(node.inputs, [&](ValueId x) { return is(state_[x]); });
    };
    const bool wanted = std::ranges::any_of(node.outputs, [&](ValueId v) { return !result_.wanted[v].empty(); });
    if (!wanted && !any([](Cut cut) { return cut != kWhole; })) return true;
    if (any([](Cut cut) { return cut == kImpossible || cut == kAfter; })) {
      const bool mixed = any([](Cut cut) { return cut == kImpossible || cut.is_slices(); });
      set_states(node, mixed ? kImpossible : kAfter);
      return !wanted;
    }
    if (!update(node)) return false;
    const std::shared_ptr<const ScanCut>& inner = result_.scans[body_.values[node.outputs[0]].def];
    if (!inner) {
      set_states(node, kImpossible);
      return !wanted;
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      Cut cut = inner->outputs[o];
      if (cut == kAfter) cut = kImpossible;  // totals of totals
      if (cut.is_slices() && is_stacked_output(node, o)) cut = stacked_cut(cut);
      state_[node.outputs[o]] = cut == kUnused ? kWhole : cut;
    }
    return true;
  }

  void set_states(const Node& node, Cut cut) {
    for (const ValueId v : node.outputs) state_[v] = cut;
  }

  Cut state_of(const Node& node) const {
    if (op_info(node.op).family == Family::control) {
      const bool whole = std::ranges::all_of(node.inputs, [&](ValueId x) { return state_[x] == kWhole; });
      return whole ? kWhole : kImpossible;
    }
    if (summed_operand(node) >= 0) return kAfter;
    Cut result = kWhole;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Cut cut = state_[node.inputs[i]];
      if (cut == kWhole) continue;
      if (cut.is_slices()) cut = result_cut(body_, node, i, cut);
      if (cut == kImpossible || (result != kWhole && cut != result)) return kImpossible;
      result = cut;
    }
    return result;
  }

  // The operand of which the node adds up slices; -1: none.
  int summed_operand(const Node& node) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Cut cut = state_[node.inputs[i]];
      if (cut.is_slices() && reduces_over(body_, node, i, cut.axis)) return static_cast<int>(i);
    }
    return -1;
  }

  // An output as it comes out of the body.
  bool agree(size_t o, bool& changed) {
    const Cut now = state_[body_.outputs[o]], before = result_.outputs[o];
    if (now == before || now == kWhole) return true;
    if (now == kImpossible || before != kUnused) return false;
    changed = true;
    if (now.is_slices()) return set_output(o, now);
    result_.outputs[o] = kAfter;
    return true;
  }

  // What follows from totals, backwards from what leaves the loop.
  bool follow() {
    result_.after.assign(body_.values.size(), false);
    std::vector<ValueId> pending;
    const auto need = [&](ValueId v) {
      if (result_.after[v]) return;
      result_.after[v] = true;
      pending.push_back(v);
    };
    for (size_t o = 0; o < body_.outputs.size(); ++o) {
      if (result_.outputs[o] != kAfter) continue;
      need(body_.outputs[o]);
      if (o < carries_) need(body_.inputs[consts_ + o]);
    }
    while (!pending.empty()) {
      const ValueId v = pending.back();
      pending.pop_back();
      ++result_.visits;
      if (state_[v] != kAfter && state_[v] != kWhole) return false;
      const Node* node = body_.def(v);
      if (!node) {
        const auto i = static_cast<size_t>(body_.values[v].index);
        if (is_carry(i)) need(body_.outputs[i - consts_]);
      } else if (node->op != Op::scan && summed_operand(*node) >= 0) {
        result_.sums.push_back(v);
      } else {
        for (const ValueId x : node->inputs) need(x);
      }
    }
    std::ranges::sort(result_.sums);
    for (const ValueId v : result_.sums) {
      if (!take_partial_sum(*body_.def(v))) return false;
    }
    return drain_settled();
  }

  bool take_partial_sum(const Node& node) {
    const auto i = static_cast<size_t>(summed_operand(node));
    const Cut cut = state_[node.inputs[i]];
    const bool products = sums_products(node);
    const bool begins = node.inputs.size() > (products ? 2 : 1);  // each slice would begin anew
    if (begins || !can_sum_partially(body_, node, i, cut.axis)) return false;
    result_.unit = std::lcm(result_.unit, partial_sum_unit(body_, node, cut));
    if (!want(node.inputs[i], cut)) return false;
    Cut first = cut;
    if (products) {
      const size_t other = 1 - i;
      const Cut like{summed_axis(node, other), cut.block};
      const Cut state = state_[node.inputs[other]];
      if ((state != kWhole && state != like) || !want(node.inputs[other], like)) return false;
      if (other == 0) first = like;
    }
    result_.summed.push_back(first);
    return true;
  }

  // Operands of partial sums are in slices already: nothing else may become a slice for their sake but what was whole.
  bool drain_settled() {
    const std::vector<Cut> outputs = result_.outputs;
    const std::vector<Cut> states = state_;
    if (!drain() || !flow() || !pending_.empty() || result_.outputs != outputs) return false;
    for (const ValueId v : body_.inputs) {
      if (result_.after[v] && state_[v].is_slices()) return false;
    }
    for (size_t v = 0; v < states.size(); ++v) {
      if (states[v] != state_[v] && (result_.after[v] || states[v] != kWhole)) return false;
    }
    return true;
  }

  const Graph& body_;
  int64_t extent_;
  Known& known_;
  size_t consts_, carries_;
  ScanCut result_;
  std::vector<std::pair<ValueId, Cut>> pending_;
  std::vector<Cut> state_;
  std::map<NodeId, std::pair<std::vector<Cut>, std::vector<Cut>>> seeds_;
};

}  // namespace

std::optional<ScanCut> cut_scan(const Node& node, const std::vector<Cut>& inputs, const std::vector<Cut>& outputs,
                                int64_t extent) {
  if (calls_host(node)) return std::nullopt;  // each slice would call it
  Known known;
  return ScanCutter(node, extent, known).run(inputs, outputs);
}

bool is_stacked_input(const Node& scan, size_t i) { return LoopLayout(scan.attrs).is_stacked_input(i); }
bool is_stacked_output(const Node& scan, size_t i) { return LoopLayout(scan.attrs).is_stacked_result(i); }

Cut stacked_cut(Cut cut) { return {cut.axis + 1, cut.block}; }
Cut unstacked_cut(Cut cut) { return cut.axis == 0 ? kImpossible : Cut{cut.axis - 1, cut.block}; }

}  // namespace neap::planner
