#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

#include "core/check.h"
#include "planner/kernels/cost.h"
#include "planner/slice/chunk.h"
#include "planner/slice/partial_sums.h"
#include "planner/slice/split_axis.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// These bound the time of finding a region; neap-plan-speed measures planning.
constexpr size_t kMostMet = 2;  // values in registers that are stored as they are needed whole too
constexpr int kMostInits = 64;  // values in registers that a loop's operand is made of and that are sliced with it

class Grower {
 public:
  // `number`: another for each region; of values nothing is known yet with this one.
  Grower(const Graph& graph, const std::vector<bool>& stored, const std::vector<std::vector<NodeId>>& readers,
         const std::vector<bool>& is_output, std::span<const ValueId> hidden, const std::vector<ValueId>& met,
         bool meets, KnownScans& known_scans, std::vector<Grown>& grown, int number)
      : graph_(graph),
        stored_(stored),
        readers_(readers),
        is_output_(is_output),
        known_scans_(known_scans),
        grown_(grown),
        number_(number),
        meets_(meets) {
    for (const ValueId v : hidden) grown_[v].hidden = number;
    for (const ValueId v : met) grown_[v].met = number;
  }

  size_t visits = 0;
  bool conflicts = false;    // where there is no region unless values meet themselves along two axes
  ValueId mixed = no_value;  // where there is no region: what would be computed in slices, but is needed whole too

  std::optional<Region> run(ValueId seed, Cut cut) {
    region_.extent = graph_.aval(seed).shape[cut.axis] / cut.block;
    if (!slice(seed, cut)) return std::nullopt;
    while (!pending_.empty()) {
      const ValueId v = pending_.back();
      pending_.pop_back();
      ++visits;
      if (!take_operands(v) || !take_readers(v)) return std::nullopt;
    }
    if (!collect()) return std::nullopt;
    return std::move(region_);
  }

 private:
  bool is_hidden(ValueId v) const { return grown_[v].hidden == number_; }
  bool is_cut(ValueId v) const { return grown_[v].cut == number_; }
  bool is_computed(ValueId v) const { return grown_[v].computed == number_; }
  // From hidden values, in registers: its readers belong here too.
  bool is_derived(ValueId v) const { return grown_[v].derived == number_; }
  // Not stored by itself: it must be computed where it is read.
  bool in_registers(ValueId v) const { return graph_.def(v) && !stored_[v] && grown_[v].met != number_; }
  const Cut& cut_of(ValueId v) const {
    NEAP_CHECK(is_cut(v), "value {} is not cut", v);
    return grown_[v].as;
  }

  // Whether the value is there only in slices.
  bool is_only_sliced(ValueId v) {
    if (is_hidden(v)) return true;
    if (!is_computed(v)) return false;
    if (in_registers(v) && !is_derived(v)) mixed = v;
    return true;
  }

  // A view of something stored, under axes that have no like in it: read as it is.
  bool is_outside_view(ValueId x, Cut cut) const {
    const Node* node = graph_.def(x);
    return node->op == Op::reshape && !in_registers(node->inputs[0]) && !is_hidden(node->inputs[0]) &&
           operand_cut(graph_, *node, cut, 0) == kImpossible;
  }

  // Makes v a value in slices, computed here.
  bool slice(ValueId v, Cut cut) {
    if (!enter(v, cut) || !graph_.def(v)) return false;
    if (std::exchange(grown_[v].computed, number_) == number_) return true;
    computed_.push_back(v);
    pending_.push_back(v);
    return true;
  }

  // Every value is sliced one way.
  bool enter(ValueId v, Cut cut) {
    if (std::exchange(grown_[v].cut, number_) != number_) {
      grown_[v].as = cut;
      entered_.push_back(v);
    }
    return cut_of(v) == cut && graph_.aval(v).shape[cut.axis] == region_.extent * cut.block;
  }

  bool take_operands(ValueId v) {
    const Node& node = *graph_.def(v);
    if (node.op == Op::scan) return slice_scan(node, no_value);
    if (op_info(node.op).family == Family::control) return false;
    const Cut at = cut_of(v);
    region_.unit = std::lcm(region_.unit, slice_unit(graph_, node, at));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Cut cut = operand_cut(graph_, node, at, i);
      if (cut == kImpossible || !take(node.inputs[i], cut)) return false;
    }
    return true;
  }

  // An operand: computed here if it is hidden or in registers, else read from outside.
  bool take(ValueId x, Cut cut) {
    if (cut == kWhole) {
      if (is_only_sliced(x)) return false;
      whole_.push_back(x);
      return true;
    }
    if (is_hidden(x) || (in_registers(x) && !is_outside_view(x, cut))) return slice(x, cut);
    if (enter(x, cut)) return true;
    // Sliced another way for another reader: each takes its slices of the whole.
    if (graph_.aval(x).shape[cut.axis] != region_.extent * cut.block || is_only_sliced(x)) return false;
    conflicts = true;
    whole_.push_back(x);
    return meets_;
  }

  // Readers of what must not exist whole belong here too, until something stored.
  bool take_readers(ValueId v) {
    const bool must = is_hidden(v) || is_derived(v);
    if (!must) return true;
    if (is_output_[v]) return false;
    for (const NodeId id : readers_[v]) {
      const Node& node = graph_.nodes[id];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != v) continue;
        if (node.op == Op::scan) {
          if (!slice_scan(node, v)) return false;
          break;
        }
        const Cut cut = cut_of(v);
        if (reduces_over(graph_, node, i, cut.axis)) {
          if (!sum(node, i, cut)) return false;
          continue;
        }
        const Cut out = result_cut(graph_, node, i, cut);
        if (out == kImpossible) return false;
        const bool fresh = in_registers(node.out()) && std::exchange(grown_[node.out()].derived, number_) != number_;
        if (!slice(node.out(), out)) return false;
        if (fresh) pending_.push_back(node.out());
      }
    }
    return true;
  }

  // A loop runs on slices: for the sake of its results that are in slices, and of operands that must be.
  bool slice_scan(const Node& node, ValueId operand) {
    const NodeId id = graph_.values[node.outputs[0]].def;
    ScanSeeds& seeds = scan_seeds_[id];
    seeds.inputs.resize(node.inputs.size(), kUnused);
    seeds.outputs.resize(node.outputs.size(), kUnused);
    bool fresh = !region_.scans.contains(id);
    const auto add = [&](ValueId v, bool stacked, Cut& seed, Cut known) {
      const Cut cut = stacked ? unstacked_cut(cut_of(v)) : cut_of(v);
      seed = cut;
      fresh |= known != cut;
      return cut != kImpossible;
    };
    const std::shared_ptr<const ScanCut> before = fresh ? nullptr : region_.scans.at(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != operand) continue;
      if (!add(operand, is_stacked_input(node, i), seeds.inputs[i], before ? before->inputs[i] : kUnused)) return false;
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const ValueId v = node.outputs[o];
      if (!is_computed(v)) continue;
      if (!add(v, is_stacked_output(node, o), seeds.outputs[o], before ? before->outputs[o] : kUnused)) return false;
    }
    if (!fresh) return true;
    const std::shared_ptr<const ScanCut> cut = cut_known(node, id, seeds);
    if (!cut) return false;
    region_.scans[id] = cut;
    region_.unit = std::lcm(region_.unit, cut->unit);
    return take_scan(node, *cut);
  }

  struct ScanSeeds {
    std::vector<Cut> inputs, outputs;
  };

  std::shared_ptr<const ScanCut> cut_known(const Node& node, NodeId id, const ScanSeeds& seeds) {
    std::vector<Cut> key = seeds.inputs;
    key.insert(key.end(), seeds.outputs.begin(), seeds.outputs.end());
    const auto [it, added] = known_scans_.try_emplace({id, region_.extent, std::move(key)}, nullptr);
    if (!added) return it->second;
    if (std::optional<ScanCut> cut = cut_scan(node, seeds.inputs, seeds.outputs, region_.extent)) {
      it->second = std::make_shared<const ScanCut>(*std::move(cut));
      visits += it->second->visits;
    } else {
      visits += node.attrs.graph(Attr::body)->nodes.size();
    }
    return it->second;
  }

  bool take_scan(const Node& node, const ScanCut& cut) {
    const Graph& body = *node.attrs.graph(Attr::body);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Cut of = cut.inputs[i];
      if ((of == kWhole || cut.after[body.inputs[i]]) && !take(node.inputs[i], kWhole)) return false;
      if (!of.is_slices()) continue;
      if (!take_for_scan(node.inputs[i], is_stacked_input(node, i) ? stacked_cut(of) : of)) return false;
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const ValueId v = node.outputs[o];
      const Cut of = cut.outputs[o];
      if (of.is_slices() && !slice(v, is_stacked_output(node, o) ? stacked_cut(of) : of)) return false;
      if (of != kAfter || std::ranges::find(region_.summed, v) != region_.summed.end()) continue;
      if (is_hidden(v)) return false;
      region_.summed.push_back(v);
    }
    return true;
  }

  // What is stored only because the loop reads it is made slice by slice too.
  bool take_for_scan(ValueId x, Cut cut) {
    const bool ours = graph_.def(x) && readers_[x].size() == 1 && !is_output_[x];
    int left = kMostInits;
    return ours && !is_cut(x) && can_slice(x, cut, left) ? slice(x, cut) : take(x, cut);
  }

  bool can_slice(ValueId x, Cut cut, int& left) const {
    const Node* node = graph_.def(x);
    if (!node || left-- <= 0 || !is_fusible(node->op)) return false;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Cut of = operand_cut(graph_, *node, cut, i);
      if (of == kImpossible) return false;
      if (of != kWhole && in_registers(node->inputs[i]) && !can_slice(node->inputs[i], of, left)) return false;
    }
    return true;
  }

  bool sum(const Node& node, size_t i, Cut cut) {
    if (std::ranges::find(region_.summed, node.out()) != region_.summed.end()) return true;
    if (is_hidden(node.out()) || !can_sum_partially(graph_, node, i, cut.axis)) return false;
    region_.unit = std::lcm(region_.unit, partial_sum_unit(graph_, node, cut));
    region_.summed.push_back(node.out());
    const bool products = sums_products(node);
    const size_t operands = products ? 2 : 1;  // another: what it begins with
    if (node.inputs.size() > operands && !take(node.inputs[operands], kWhole)) return false;
    if (!products) return true;
    const size_t other = 1 - i;
    const Cut of{summed_axis(node, other), cut.block};
    return take(node.inputs[other], of) && cut_of(node.inputs[other]) == of;
  }

  bool collect() {
    // Cheap values without the axis are computed again for each slice, down to stored ones.
    std::unordered_set<ValueId> seen;
    std::vector<ValueId> inside;
    while (!whole_.empty()) {
      const ValueId x = whole_.back();
      whole_.pop_back();
      ++visits;
      if (!seen.insert(x).second) continue;
      if (is_only_sliced(x)) return false;
      if (is_cut(x)) {
        region_.met.push_back(x);
        continue;
      }
      const Node* node = graph_.def(x);
      const bool view = node && in_registers(x) &&
                        (op_info(node->op).family == Family::leaf || node->op == Op::reshape ||
                         node->op == Op::broadcast_in_dim || graph_.aval(x).size() <= 2);
      if (view) {
        inside.push_back(x);
        whole_.insert(whole_.end(), node->inputs.begin(), node->inputs.end());
      } else {
        region_.inputs.push_back(x);
      }
    }
    std::ranges::sort(inside);
    region_.inside = std::move(inside);
    std::ranges::sort(region_.met);
    std::ranges::sort(computed_);
    std::vector<Cuts::Item> cuts;
    for (const ValueId v : entered_) {
      cuts.emplace_back(v, cut_of(v));
      if (!is_computed(v)) region_.inputs.push_back(v);
    }
    region_.cut = Cuts(std::move(cuts));
    std::ranges::sort(region_.inputs);
    region_.inputs.erase(std::ranges::unique(region_.inputs).begin(), region_.inputs.end());
    std::unordered_set<ValueId> outside;  // needed by what is not in slices; readers come first
    for (const ValueId v : computed_ | std::views::reverse) {
      if (is_hidden(v) || is_derived(v)) continue;
      const bool leaves = is_output_[v] || std::ranges::any_of(readers_[v], [&](NodeId id) {
                            if (region_.scans.contains(id)) return false;
                            const ValueId out = graph_.nodes[id].out();
                            if (std::ranges::find(region_.summed, out) != region_.summed.end()) return false;
                            // What is in registers anyway is computed again outside.
                            return !is_cut(out) || (in_registers(out) && outside.contains(out));
                          });
      if (!leaves) continue;
      outside.insert(v);
      if (stored_[v] || is_output_[v]) region_.joined.push_back(v);
    }
    std::ranges::reverse(region_.joined);
    std::ranges::sort(region_.summed);
    return true;
  }

  const Graph& graph_;
  const std::vector<bool>& stored_;
  const std::vector<std::vector<NodeId>>& readers_;
  const std::vector<bool>& is_output_;
  KnownScans& known_scans_;
  std::map<NodeId, ScanSeeds> scan_seeds_;
  std::vector<Grown>& grown_;
  const int number_;
  std::vector<ValueId> pending_, whole_, computed_, entered_;
  const bool meets_;  // values may be sliced one way for one reader and another for the next
  Region region_;
};

// What of a region is computed for the sake of values that leave it.
class Part {
 public:
  Part(const Graph& graph, const Region& region) : graph_(graph), region_(region) {}

  // `given`: values of the region that are there already, whole.
  Region of(const std::vector<ValueId>& leaving, const std::set<ValueId>& given) {
    Region part;
    part.extent = region_.extent;
    part.unit = region_.unit;
    std::set<ValueId> seen, inputs;
    std::vector<Cuts::Item> cuts;
    std::vector<ValueId> pending = leaving;
    while (!pending.empty()) {
      const ValueId v = pending.back();
      pending.pop_back();
      if (!seen.insert(v).second) continue;
      const bool leaves = std::ranges::find(leaving, v) != leaving.end();
      const bool whole = leaves && std::ranges::binary_search(region_.summed, v);  // whatever later stages take of it
      if (const Cut* cut = whole ? nullptr : region_.cut.find(v)) cuts.emplace_back(v, *cut);
      if (!leaves && (std::ranges::binary_search(region_.inputs, v) || given.contains(v))) {
        inputs.insert(v);
        continue;
      }
      if (std::ranges::binary_search(region_.inside, v)) part.inside.push_back(v);
      const Node& node = *graph_.def(v);
      const auto scan = region_.scans.find(graph_.values[v].def);
      if (scan == region_.scans.end()) {
        pending.insert(pending.end(), node.inputs.begin(), node.inputs.end());
        continue;
      }
      part.scans.insert(*scan);
      const Graph& body = *node.attrs.graph(Attr::body);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (scan->second->inputs[i] != kUnused || scan->second->after[body.inputs[i]])
          pending.push_back(node.inputs[i]);
      }
    }
    part.cut = Cuts(std::move(cuts));
    std::ranges::sort(part.inside);
    part.inputs.assign(inputs.begin(), inputs.end());
    std::ranges::set_intersection(part.inputs, region_.met, std::back_inserter(part.met));
    for (const ValueId v : leaving)
      (std::ranges::binary_search(region_.summed, v) ? part.summed : part.joined).push_back(v);
    std::ranges::sort(part.summed);
    std::ranges::sort(part.joined);
    return part;
  }

 private:
  const Graph& graph_;
  const Region& region_;
};

}  // namespace

Cuts::Cuts(std::vector<Item> items) : items_(std::move(items)) {
  std::ranges::sort(items_, {}, &Item::first);
  NEAP_CHECK(std::ranges::adjacent_find(items_, {}, &Item::first) == items_.end(), "a value is cut twice");
}

const Cut* Cuts::find(ValueId v) const {
  const auto it = std::ranges::lower_bound(items_, v, {}, &Item::first);
  return it != items_.end() && it->first == v ? &it->second : nullptr;
}

const Cut& Cuts::at(ValueId v) const {
  const Cut* const cut = find(v);
  NEAP_CHECK(cut, "value {} is not cut", v);
  return *cut;
}

std::vector<Region> stages_of(const Graph& graph, Region region) {
  // Of values inside: how often what they need has left the region and come back; of others the same and once more for
  // what has left.
  std::vector<int> stage(graph.values.size(), 0);
  std::vector<bool> member(graph.values.size(), false);
  for (const auto& [v, cut] : region.cut) member[v] = !std::ranges::binary_search(region.inputs, v);
  for (const auto* list : {&region.summed, &region.inside}) {
    for (const ValueId v : *list) member[v] = true;
  }
  const auto leaves = [&](ValueId v) {
    return std::ranges::binary_search(region.summed, v) || std::ranges::find(region.joined, v) != region.joined.end();
  };
  const auto is_input = [&](ValueId v) { return std::ranges::binary_search(region.inputs, v); };
  int last = 0;
  for (const Node& node : graph.nodes) {
    for (const ValueId v : node.outputs) {
      int most = 0;
      for (const ValueId x : node.inputs) {
        const bool outside = !member[v] || is_input(x);
        most = std::max(most, stage[x] + (outside && member[x] && leaves(x) ? 1 : 0));
      }
      stage[v] = most;
      if (member[v] && leaves(v)) last = std::max(last, most);
    }
  }
  std::vector<Region> parts;
  if (last == 0) {
    parts.push_back(std::move(region));
    return parts;
  }
  std::set<ValueId> given;
  for (int s = 0; s <= last; ++s) {
    std::vector<ValueId> leaving;
    for (const auto* list : {&region.summed, &region.joined}) {
      for (const ValueId v : *list) {
        if (stage[v] == s) leaving.push_back(v);
      }
    }
    if (leaving.empty()) continue;
    parts.push_back(Part(graph, region).of(leaving, given));
    for (const ValueId v : leaving) {
      if (!std::ranges::binary_search(region.summed, v)) given.insert(v);
    }
  }
  return parts;
}

RegionFinder::RegionFinder(const Graph& graph, const std::vector<bool>& stored)
    : graph_(graph),
      stored_(stored),
      readers_(consumers(graph)),
      is_output_(graph.values.size(), false),
      grown_(graph.values.size()) {
  for (const ValueId v : graph.outputs) is_output_[v] = true;
}

std::optional<Region> RegionFinder::find(const std::vector<ValueId>& hidden, Cut cut, bool hide) const {
  if (hidden.empty() || !graph_.def(hidden[0])) return std::nullopt;
  std::optional<Region> region;
  bool meets = false;
  for (std::vector<ValueId> met; !region;) {
    const auto hides = hide ? std::span(hidden) : std::span<const ValueId>();
    Grower grower(graph_, stored_, readers_, is_output_, hides, met, meets, known_scans_, grown_, ++regions_);
    region = grower.run(hidden[0], cut);
    visits_ += grower.visits;
    if (grower.mixed != no_value && met.size() < kMostMet) {
      met.push_back(grower.mixed);
    } else if (grower.conflicts && !meets) {
      meets = true;
    } else {
      break;
    }
  }
  if (!region || (region->joined.empty() && region->summed.empty())) return std::nullopt;
  return region;
}

}  // namespace neap::planner
