#include "planner/fuse/insert_copies.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "planner/fuse/groups.h"
#include "planner/kernels/cost.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "trace/graph/loop.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// No measurement of these is recorded; tests/bench/check_peaks shows what they do to peaks, neap-plan-speed to time.
constexpr size_t kMaxPieces = 64;  // of a join: each is a buffer, and may be a step
constexpr size_t kMinJoin = 4096;  // bytes; below, one kernel is as good
constexpr size_t kSmallShare = 4;  // updates or indices of up to a fourth of the operand's bytes are stored for it;
                                   // parts of less than a fourth of a join are not worth one
constexpr int kMostVisits = 1000;  // nodes that one question may look at; after that the answer is no

class CopyInserter {
 public:
  CopyInserter(const Graph& graph, bool is_body, bool joins, const std::vector<bool>& overwritable)
      : joins_(joins),
        overwritable_(overwritable),
        graph_(graph),
        uses_(count_uses(graph)),
        consumers_(consumers(graph)) {
    renamed_ = copy_inputs(result_, graph);
    find_output_copies(is_body);
    // Copies of inputs come first, so that they never keep a carry from being written in place.
    for (size_t i = 0; i < output_copy_.size(); ++i) {
      if (output_copy_[i] && !graph.def(graph.outputs[i])) copy_output(i);
    }
    for (const Node& node : graph.nodes) add(node);
    std::unordered_map<ValueId, ValueId> shared;  // outside a body, equal outputs are one buffer
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (const auto it = shared.find(graph.outputs[i]); !is_body && it != shared.end()) copied_[i] = it->second;
      if (output_copy_[i] && copied_[i] == no_value) copy_output(i);
      shared.emplace(graph.outputs[i], copied_[i]);
      result_.outputs.push_back(output_copy_[i] ? copied_[i] : renamed_[graph.outputs[i]]);
    }
  }

  Graph take() { return std::move(result_); }

 private:
  void find_output_copies(bool is_body) {
    std::unordered_set<ValueId> taken;
    copied_.assign(graph_.outputs.size(), no_value);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId v = view_root(graph_, graph_.outputs[i]);
      bool copy = graph_.is(v, Op::constant);  // readers inside should not load it
      const bool first = taken.insert(v).second;
      if (is_body) copy |= !graph_.def(v) || !first;
      output_copy_.push_back(copy);
    }
  }

  void copy_output(size_t i) {
    const ValueId v = graph_.outputs[i];
    const Node* def = graph_.def(v);
    copied_[i] = copy(renamed_[v], def ? def->loc : std::source_location{});
  }

  ValueId copy(ValueId v, std::source_location loc) { return result_.add(Op::stop_gradient, {v}, {}, loc); }

  // Whether something else than the scan reads the value, or it is not ours to overwrite.
  bool needs_copy(ValueId v) const {
    for (;; v = graph_.def(v)->inputs[0]) {
      if (!graph_.def(v) || uses_[v] > 1) return true;
      if (graph_.is(v, Op::constant)) return !has_mark(*graph_.def(v), Mark::uninitialized);
      if (!graph_.is(v, Op::reshape)) return false;
    }
  }

  // Something that has to be in memory and that nothing else reads: it may lie anywhere.
  bool is_opaque_result(ValueId v) const {
    if (needs_copy(v)) return false;
    const ValueId source = view_root(graph_, v);
    const Node& node = *graph_.def(source);
    if (is_loop(node.op)) {
      return LoopLayout(node.attrs).is_stacked_result(static_cast<size_t>(graph_.values[source].index));
    }
    return !is_fusible(node.op);
  }

  // Whether the value is in memory whoever computes it: an output, or what no kernel reads.
  bool is_stored(ValueId v) const {
    if (std::ranges::find(graph_.outputs, v) != graph_.outputs.end()) return true;
    return std::ranges::any_of(consumers_[v], [&](NodeId id) {
      const Node& reader = graph_.nodes[id];
      return reader.op == Op::reshape ? is_stored(reader.out()) : !is_fusible(reader.op);
    });
  }

  // A concatenate of whole blocks of memory, some of which are stored anyway. Where kernels could read the parts where
  // they lie, as of a block with the rims of its neighbours, those are a good part of it: the others are copied.
  bool can_join(const Node& node) const {
    if (node.op != Op::concatenate || node.inputs.size() > kMaxPieces) return false;
    const Aval& whole = graph_.aval(node.out());
    for (int64_t i = 0; i < node.attrs.integer(Attr::axis); ++i) {
      if (whole.shape[i] != 1) return false;
    }
    if (whole.bytes() < kMinJoin) return false;
    size_t stored = 0;
    for (const ValueId v : node.inputs)
      if (is_opaque_result(v)) stored += graph_.aval(v).bytes();
    return stored > 0 && (stored >= whole.bytes() / kSmallShare || is_stored(node.out()));
  }

  bool may_overwrite(ValueId v) const {
    if (const Node* node = graph_.def(v)) return !is_fusible(node->op) || has_mark(*node, Mark::unmerged);
    const auto input = static_cast<size_t>(graph_.values[v].index);
    return input < overwritable_.size() && overwritable_[input];
  }

  // Whether a kernel that computes `v` reads `source`.
  bool reads(ValueId v, ValueId source) const {
    std::vector<ValueId> pending{v};
    std::unordered_set<ValueId> seen;
    for (int visits = 0; !pending.empty() && visits < kMostVisits; ++visits) {
      const ValueId x = pending.back();
      pending.pop_back();
      if (x == source) return true;
      const Node* node = graph_.def(x);
      if (!node || !is_fusible(node->op)) continue;
      if (has_mark(*node, Mark::separate) || has_mark(*node, Mark::unmerged)) continue;
      for (const ValueId y : node->inputs) {
        if (seen.insert(y).second) pending.push_back(y);
      }
    }
    return false;
  }

  // What a scatter computes from its operand is stored first, so that the operand can be updated where it lies.
  void store_apart(const Node& node, std::vector<ValueId>& inputs) {
    const ValueId operand = view_root(graph_, node.inputs[0]);
    if (!may_overwrite(operand)) return;
    for (size_t i = 1; i < inputs.size(); ++i) {
      const bool small = graph_.aval(node.inputs[i]).bytes() <= graph_.aval(operand).bytes() / kSmallShare;
      if (!small || !reads(node.inputs[i], operand)) continue;
      inputs[i] = result_.add(Op::stop_gradient, {inputs[i]}, marked({}, Mark::separate), node.loc);
    }
  }

  void add(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(renamed_[v]);
    if (joins_ && op_info(node.op).family == Family::scatter) store_apart(node, inputs);
    if (is_loop(node.op)) {
      const auto [consts, carries] = LoopLayout(node.attrs);
      for (size_t j = 0; j < carries; ++j) {
        if (needs_copy(node.inputs[consts + j])) inputs[consts + j] = copy(inputs[consts + j], node.loc);
      }
    }
    const bool join = joins_ && can_join(node);
    if (join) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!is_opaque_result(node.inputs[i])) inputs[i] = copy(inputs[i], node.loc);
      }
    }
    const NodeId id = append_copy(result_, graph_, node, std::move(inputs));
    Attrs& attrs = result_.nodes[id].attrs;
    // A mark from an earlier plan of this graph says nothing about this one: the copies it relied on are gone.
    if (is_join(node)) attrs = {{Attr::axis, node.attrs.integer(Attr::axis)}};
    if (join) set_mark(attrs, Mark::join);
    for (size_t i = 0; i < node.outputs.size(); ++i) renamed_[node.outputs[i]] = result_.nodes[id].outputs[i];
  }

  bool joins_;
  const std::vector<bool>& overwritable_;
  const Graph& graph_;
  std::vector<int> uses_;
  std::vector<std::vector<NodeId>> consumers_;
  std::vector<ValueId> renamed_;
  std::vector<bool> output_copy_;
  std::vector<ValueId> copied_;
  Graph result_;
};

}  // namespace

Graph insert_copies(Graph graph, bool is_body, bool joins, const std::vector<bool>& overwritable) {
  const auto may_need = [](const Node& node) {
    const Family family = op_info(node.op).family;
    return family == Family::control || family == Family::scatter || node.op == Op::concatenate;
  };
  const auto is_constant = [&](ValueId v) { return graph.is(v, Op::constant); };
  if (!is_body && std::ranges::none_of(graph.nodes, may_need) && std::ranges::none_of(graph.outputs, is_constant)) {
    return graph;
  }
  return CopyInserter(graph, is_body, joins, overwritable).take();
}

}  // namespace neap::planner
