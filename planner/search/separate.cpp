#include "planner/search/separate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/fuse/fuse.h"
#include "planner/fuse/groups.h"
#include "planner/kernels/cost.h"
#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "planner/search/rematerialize.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int kRounds = 16;
constexpr size_t kMostNodes = 4000;   // beyond, one plan takes time enough
constexpr size_t kSmallShare = 1024;  // this part of a peak does not make it

enum class How {
  where_less_waits,  // what is stored frees more than it takes
  wholly,            // all but the smallest values are stored, as the naive pipeline does
};

// Marks what is to be stored, in a step of its own, for the highest steps of a plan.
class Separator {
 public:
  Separator(const Planned& planned, How how)
      : graph_(planned.graph),
        plan_(planned.plan),
        how_(how),
        small_(plan_.peak_bytes / kSmallShare),
        expressions_(graph_),
        result_(graph_) {
    stored_ = stored_values(planned);
    dies_.assign(graph_.values.size(), false);
  }

  /// Of all steps that hold more.
  void separate_above(size_t bytes) {
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      if (plan_.steps[s].bytes_live <= bytes) continue;
      for (const int b : alive_at(plan_, s)) {
        const int maker = plan_.buffers[b].first;
        const bool waits = plan_.buffers[b].storage == Storage::intermediate && maker < s;
        if (waits && plan_.buffers[b].bytes > small_) part(plan_.steps[maker]);
      }
      part(plan_.steps[s]);
      if (!is_opaque(plan_.steps[s].kind)) separate(s);
    }
  }

  /// nullopt: nothing was to be marked.
  std::optional<Graph> take() {
    if (!marked_) return std::nullopt;
    return std::move(result_);
  }

 private:
  // Without the values that loops begin with: their buffers are named by what loops end with.
  std::vector<ValueId> results(const PlanStep& step) const {
    std::vector<ValueId> values;
    for (const int b : step.writes) {
      const ValueId v = plan_.buffers[b].value;
      const Node* node = v != no_value ? graph_.def(v) : nullptr;
      if (node && !is_loop(node->op)) values.push_back(v);
    }
    return values;
  }

  // What the step was merged from are steps again.
  void part(const PlanStep& step) {
    if (is_opaque(step.kind) || step.writes.size() < 2) return;
    for (const ValueId v : results(step)) mark(v);
  }

  // Stores what the step computes on the way.
  void separate(int index) {
    const PlanStep& step = plan_.steps[index];
    const std::vector<ValueId> roots = results(step);
    if (roots.empty()) return;
    for (const int b : step.reads) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.value != no_value && buffer.storage == Storage::intermediate)
        dies_[buffer.value] = buffer.last == index;
    }
    for (const NodeId id : expressions_(stored_, roots).nodes) {
      const ValueId v = graph_.nodes[id].out();
      if (!may_store(v)) continue;
      if (how_ == How::wholly ? bytes(v) > small_ : freed(v, roots) > bytes(v) + small_) store(v);
    }
  }

  bool may_store(ValueId v) const {
    const Node& node = *graph_.def(v);
    const bool is_view = node.op == Op::constant || node.op == Op::iota || node.op == Op::broadcast_in_dim ||
                         node.op == Op::reshape || is_join(node);
    return !stored_[v] && is_fusible(node.op) && !is_view;
  }

  // Bytes that the step reads, and that would be dead before it if `v` were stored.
  size_t freed(ValueId v, const std::vector<ValueId>& roots) {
    const std::vector<ValueId> own = expressions_(stored_, {v}).leaves;
    stored_[v] = true;
    const std::vector<ValueId> left = expressions_(stored_, roots).leaves;
    stored_[v] = false;
    size_t freed = is_scattered_into(v, roots) ? bytes(v) : 0;  // it is written in place
    for (const ValueId leaf : own) {
      if (dies_[leaf] && !std::ranges::binary_search(left, leaf)) freed += bytes(leaf);
    }
    return freed;
  }

  bool is_scattered_into(ValueId v, const std::vector<ValueId>& roots) const {
    const Node& root = *graph_.def(roots[0]);
    return op_info(root.op).family == Family::scatter && view_root(graph_, root.inputs[0]) == v;
  }

  void store(ValueId v) {
    stored_[v] = dies_[v] = true;
    mark(v);
  }

  void mark(ValueId v) {
    Node& node = result_.nodes[static_cast<size_t>(graph_.values[v].def)];
    if (has_mark(node, Mark::unmerged)) return;
    set_mark(node.attrs, Mark::materialize);
    set_mark(node.attrs, Mark::unmerged);
    marked_ = true;
  }

  size_t bytes(ValueId v) const { return graph_.aval(v).bytes(); }

  const Graph& graph_;
  const PlanData& plan_;
  How how_;
  size_t small_;
  ExpressionFinder expressions_;
  std::vector<bool> stored_, dies_;  // of each value; with the step that is looked at
  Graph result_;
  bool marked_ = false;
};

}  // namespace

std::optional<Planned> separate_peaks(const Planned& planned, Price naive, const PlanOptions& options) {
  if (count_nodes(planned.graph) > kMostNodes) return std::nullopt;
  std::optional<Planned> lowest;
  How how = How::where_less_waits;
  for (int round = 0; round < kRounds; ++round) {
    const PlanData& from = lowest ? lowest->plan : planned.plan;
    const Price price = price_of(from, options.target);
    Separator separator(lowest ? *lowest : planned, how);
    separator.separate_above(most_beside_naive(price.seconds, naive) + from.peak_bytes - price.peak_bytes);
    std::optional<Graph> graph = separator.take();
    std::optional<Planned> next;
    if (graph) next = plan_simplified(*std::move(graph), options, {}, Placing::near);
    if (next && next->plan.peak_bytes < from.peak_bytes - from.peak_bytes / kSmallShare) {
      lowest = std::move(next);
      if (!exceeds_naive(price_of(lowest->plan, options.target), naive)) return lowest;
    } else if (how == How::where_less_waits) {
      how = How::wholly;
    } else {
      break;
    }
  }
  return std::nullopt;
}

}  // namespace neap::planner
