#include "planner/fuse/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "planner/kernels/cost.h"
#include "planner/kernels/families.h"
#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// These bound the time of planning (neap-plan-speed measures it) and the size of kernels (fuse.cpp). No measurement of
// them is recorded.
constexpr size_t kMaxExpression = 512;  // nodes
constexpr size_t kClose = 8;  // node numbers that are looked through for each node of an expression, else it is sorted
constexpr size_t kMaxRoots = 64;     // values that a merged step makes
constexpr size_t kMaxVisits = 4096;  // nodes; what takes longer to look through is not merged
constexpr int64_t kTiny = 256;       // elements: merging steps so small saves a launch and costs no memory

Ints reduced_axes(const Node& node) {
  if (op_info(node.op).family == Family::argreduce) return {node.attrs.integer(Attr::axis)};
  Ints axes = node.attrs.ints(Attr::axes);
  std::ranges::sort(axes);
  return axes;
}

// Merges groups of one kind that loop over the same elements.
class Merger {
 public:
  // `within`: of each value the only group whose values it may join; null: any.
  Merger(const Graph& graph, const std::vector<bool>& stored, const std::vector<int>* within = nullptr)
      : graph_(graph), stored_(stored), within_(within), finder_(graph) {
    group_of_.assign(graph.values.size(), -1);
    is_output_ = holds_output(graph);
    seen_.assign(graph.nodes.size(), 0);
  }

  std::vector<Group> run() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
      const Node& node = graph_.nodes[id];
      if (!stored_[node.out()] || is_join(node)) continue;
      const PlanStep::Kind kind = traits(node.op).kind;
      int group = -1;
      const bool joins =
          (kind == PlanStep::Kind::reduce || kind == PlanStep::Kind::map) && !has_mark(node, Mark::unmerged);
      if (joins) group = join(node, kind);
      if (group < 0) {
        group = static_cast<int>(groups_.size());
        groups_.push_back({kind, {}});
        expressions_.emplace_back();
        if (joins) candidates_[key(node, kind)].push_back(group);
      }
      for (const ValueId v : node.outputs) {
        groups_[group].roots.push_back(v);
        group_of_[v] = group;
      }
      if (groups_[group].roots.size() > node.outputs.size()) add_span(groups_[group].roots[0], id);
    }
    return std::move(groups_);
  }

 private:
  size_t key(const Node& node, PlanStep::Kind kind) const {
    size_t hash = static_cast<size_t>(kind);
    const auto mix = [&](int64_t x) { hash = hash * 0x9E3779B97F4A7C15u + static_cast<size_t>(x) + 1; };
    const bool reduces = kind == PlanStep::Kind::reduce;
    for (const int64_t extent : graph_.aval(reduces ? node.inputs[0] : node.out()).shape) mix(extent);
    if (reduces) {
      for (const int64_t axis : reduced_axes(node)) mix(-1 - axis);
    }
    if (is_copy(node)) mix(-1);
    return hash;
  }

  const Expression& expression_of(int group) {
    if (!expressions_[group]) expressions_[group] = finder_(stored_, groups_[group].roots);
    return *expressions_[group];
  }

  // The group that the node can and should join, or -1.
  int join(const Node& node, PlanStep::Kind kind) {
    const auto it = candidates_.find(key(node, kind));
    if (it == candidates_.end()) return -1;
    const Expression own = finder_(stored_, {node.out()});
    const auto& candidates = it->second;
    // Only the latest four candidates are tried, so that this stays linear in the nodes.
    for (size_t i = candidates.size(); i-- > 0 && i + 4 >= candidates.size();) {
      const int group = candidates[i];
      if (within_ && (*within_)[groups_[group].roots[0]] != (*within_)[node.out()]) continue;
      const bool worth =
          !within_ ? worth_merging(group, node, own) : kind == PlanStep::Kind::reduce || reads_alike(group, node, own);
      if (!own.complete || !worth || depends(node, group)) continue;
      expressions_[group].reset();
      return group;
    }
    return -1;
  }

  // Whether no large array is read by one of them only: those would have to be alive together. Large is more than a
  // sixteenth of the elements that the steps loop over.
  bool reads_alike(int group, const Node& node, const Expression& own) {
    const int64_t elements = elements_of(groups_[group].kind, node);
    const auto large = [&](const Expression& expression) {
      std::vector<ValueId> leaves;
      for (const ValueId v : expression.leaves) {
        if (graph_.aval(v).size() > elements / 16 && graph_.def(v)) leaves.push_back(v);
      }
      return leaves;
    };
    return elements <= kTiny || large(own) == large(expression_of(group));
  }

  // That a step loops over.
  int64_t elements_of(PlanStep::Kind kind, const Node& node) const {
    return graph_.aval(kind == PlanStep::Kind::reduce ? node.inputs[0] : node.out()).size();
  }

  // Whether merging saves enough, in units of one element (planner/kernels/cost.h): work and reads that both share and
  // that have more than a quarter of the elements. A merged step holds its results together, so maps must save more,
  // unless all of them are outputs. No measurement is recorded; tests/bench/check_peaks shows what it does to peaks.
  bool worth_merging(int group, const Node& node, const Expression& own) {
    const Group& other = groups_[group];
    if (is_copy(node) != is_copy(*graph_.def(other.roots[0]))) return false;  // it is to run later
    if (graph_.aval(other.roots[0]).shape != graph_.aval(node.out()).shape) return false;
    const bool reduces = other.kind == PlanStep::Kind::reduce;
    const int64_t elements = elements_of(other.kind, node);
    const Expression& theirs = expression_of(group);
    std::vector<NodeId> shared;
    std::ranges::set_intersection(own.nodes, theirs.nodes, std::back_inserter(shared));
    const size_t together = own.nodes.size() + theirs.nodes.size() - shared.size();
    if (!theirs.complete || together > kMaxExpression || other.roots.size() >= kMaxRoots) return false;
    if (elements <= kTiny) return true;
    if (!reads_alike(group, node, own)) return false;
    double saved = 0;
    for (const NodeId id : shared) {
      if (graph_.aval(graph_.nodes[id].out()).size() > elements / 4) saved += element_cost(graph_, graph_.nodes[id]);
    }
    std::vector<ValueId> read;
    std::ranges::set_intersection(own.leaves, theirs.leaves, std::back_inserter(read));
    for (const ValueId v : read) {
      if (graph_.aval(v).size() > elements / 4)
        saved += kReadUnitsPerByte * static_cast<double>(size_of(graph_.aval(v).dtype));
    }
    if (reduces) return saved >= 4;
    const auto is_output = [&](ValueId v) { return is_output_[v]; };
    return saved >= (is_output_[node.out()] && std::ranges::all_of(other.roots, is_output) ? 8 : 60);
  }

  // Notes that a merged group reaches from its first root to node `last`, the latest of all.
  void add_span(ValueId root, NodeId last) {
    Span span{graph_.values[root].def, last};
    while (!spans_.empty() && spans_.back().last >= span.first) {
      span.first = std::min(span.first, spans_.back().first);
      spans_.pop_back();
    }
    spans_.push_back(span);
  }

  // From nodes before this one no chain of groups leads to `id` or behind: operands come earlier, and merged groups,
  // which also lead forward, do so within their spans.
  NodeId earliest_leading_to(NodeId id) const {
    const auto after = std::ranges::upper_bound(spans_, id, {}, &Span::first);
    return after != spans_.begin() && std::prev(after)->last > id ? std::prev(after)->first : id;
  }

  // Whether the node needs, through any chain of groups, what `group` makes; or might, where that takes too long to
  // say.
  bool depends(const Node& node, int group) {
    ++epoch_;
    std::vector<ValueId> pending(node.inputs);
    const NodeId earliest = earliest_leading_to(graph_.values[groups_[group].roots[0]].def);
    size_t visits = 0;
    while (!pending.empty()) {
      const ValueId v = pending.back();
      pending.pop_back();
      const NodeId def = graph_.values[v].def;
      if (def == no_node || def < earliest || seen_[def] == epoch_) continue;
      const int other = group_of_[v];
      if (other == group || ++visits > kMaxVisits) return true;
      seen_[def] = epoch_;
      const Node& source = graph_.nodes[def];
      pending.insert(pending.end(), source.inputs.begin(), source.inputs.end());
      if (other < 0) continue;
      for (const ValueId root : groups_[other].roots) {
        const NodeId maker = graph_.values[root].def;
        if (maker == def || seen_[maker] == epoch_) continue;
        const Node& member = graph_.nodes[maker];
        pending.insert(pending.end(), member.inputs.begin(), member.inputs.end());
      }
    }
    return false;
  }

  const Graph& graph_;
  const std::vector<bool>& stored_;
  const std::vector<int>* within_;
  ExpressionFinder finder_;
  std::vector<Group> groups_;
  std::vector<std::optional<Expression>> expressions_;
  std::vector<int> group_of_;
  std::vector<bool> is_output_;
  std::unordered_map<size_t, std::vector<int>> candidates_;
  // Spans of merged groups, those that overlap as one: apart and ascending.
  struct Span {
    NodeId first, last;
  };
  std::vector<Span> spans_;
  std::vector<int> seen_;
  int epoch_ = 0;
};

}  // namespace

std::vector<bool> must_store(const Graph& graph) {
  std::vector<bool> stored(graph.values.size(), false);
  for (const ValueId v : graph.inputs) stored[v] = true;
  for (const ValueId v : graph.outputs) stored[view_root(graph, v)] = true;
  for (const Node& node : graph.nodes) {
    if (is_fusible(node.op) && !is_join(node)) {
      if (has_mark(node, Mark::separate)) stored[node.out()] = true;
      if (has_mark(node, Mark::materialize)) stored[view_root(graph, node.out())] = true;
      continue;
    }
    for (const ValueId v : node.outputs) stored[v] = true;
    const PlanStep::Kind kind = traits(node.op).kind;
    if (kind == PlanStep::Kind::reduce && node.inputs.size() == 2) stored[view_root(graph, node.inputs[1])] = true;
    if (!is_opaque(kind) && !is_join(node)) continue;
    for (const ValueId v : node.inputs) stored[view_root(graph, v)] = true;
  }
  return stored;
}

ExpressionFinder::ExpressionFinder(const Graph& graph)
    : graph_(graph),
      cost_(graph.nodes.size(), 0),
      seen_node_(graph.nodes.size(), 0),
      seen_value_(graph.values.size(), 0) {
  for (size_t i = 0; i < cost_.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (graph.aval(node.out()).size() > 2) cost_[i] = element_cost(graph, node);
  }
}

Expression ExpressionFinder::operator()(const std::vector<bool>& stored, const std::vector<ValueId>& roots) {
  Expression expression;
  ++count_;
  const auto is_new = [&](int& seen) { return std::exchange(seen, count_) != count_; };
  pending_.clear();
  nodes_.clear();
  leaves_.clear();
  for (const ValueId v : roots) {
    const NodeId def = graph_.values[v].def;
    if (is_new(seen_node_[def])) pending_.push_back(def);
  }
  size_t found = pending_.size();
  while (!pending_.empty()) {
    const NodeId id = pending_.back();
    pending_.pop_back();
    nodes_.push_back(id);
    expression.cost += cost_[id];
    const Node& node = graph_.nodes[id];
    if (op_info(node.op).family == Family::random) expression.random_nodes.push_back(id);
    for (const ValueId v : node.inputs) {
      const NodeId def = graph_.values[v].def;
      if (stored[v]) {
        if (is_new(seen_value_[v])) leaves_.push_back(v);
      } else if (found >= kMaxExpression) {
        expression.complete = false;
      } else if (is_new(seen_node_[def])) {
        pending_.push_back(def);
        ++found;
      }
    }
  }
  sort_nodes(nodes_);
  std::ranges::sort(leaves_);
  expression.nodes = nodes_;
  expression.leaves = leaves_;
  std::ranges::sort(expression.random_nodes);
  return expression;
}

// They lie close together, as a rule: marked, they are found again in their order.
void ExpressionFinder::sort_nodes(std::vector<NodeId>& nodes) const {
  if (nodes.empty()) return;
  const auto [lowest, highest] = std::ranges::minmax(nodes);
  if (static_cast<size_t>(highest - lowest) > kClose * nodes.size()) {
    std::ranges::sort(nodes);
    return;
  }
  auto next = nodes.begin();
  for (NodeId id = lowest; id <= highest; ++id) {
    if (seen_node_[id] == count_) *next++ = id;
  }
}

std::vector<Group> single_steps(const Graph& graph, const std::vector<bool>& stored) {
  std::vector<Group> groups;
  for (const Node& node : graph.nodes) {
    if (stored[node.out()]) groups.push_back({traits(node.op).kind, node.outputs});
  }
  return groups;
}

std::vector<Group> share_steps(const Graph& graph, const std::vector<bool>& stored) {
  return Merger(graph, stored).run();
}

bool would_part(const Graph& graph, const std::vector<bool>& stored, const Fusion& fusion) {
  return Merger(graph, stored, &fusion.group_of).run().size() > fusion.groups.size();
}

void sort_groups(const Graph& graph, Fusion& fusion) {
  const size_t count = fusion.groups.size();
  fusion.group_of.assign(graph.values.size(), -1);
  for (size_t g = 0; g < count; ++g) {
    for (const ValueId v : fusion.groups[g].roots) fusion.group_of[v] = static_cast<int>(g);
  }
  // A group runs after those that store what it reads; among groups that can run, the one that ends first in program.
  std::vector<std::vector<int>> readers(count);
  std::vector<int> missing(count, 0);
  std::vector<NodeId> last(count, 0), pending;
  std::vector<size_t> seen(graph.nodes.size(), count), read(count, count);  // the latest group that needs or reads them
  for (size_t g = 0; g < count; ++g) {
    for (const ValueId v : fusion.groups[g].roots) {
      const NodeId def = graph.values[v].def;
      last[g] = std::max(last[g], def);
      if (std::exchange(seen[def], g) != g) pending.push_back(def);
    }
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      for (const ValueId v : graph.nodes[id].inputs) {
        const NodeId def = graph.values[v].def;
        if (def == no_node) continue;
        const int source = fusion.group_of[v];
        if (source >= 0 && source != static_cast<int>(g)) {
          if (std::exchange(read[source], g) != g) readers[source].push_back(static_cast<int>(g)), ++missing[g];
        } else if (std::exchange(seen[def], g) != g) {
          pending.push_back(def);
        }
      }
    }
  }
  using Ready = std::pair<NodeId, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (size_t g = 0; g < count; ++g) {
    if (missing[g] == 0) ready.emplace(last[g], static_cast<int>(g));
  }
  std::vector<Group> sorted;
  while (!ready.empty()) {
    const int g = ready.top().second;
    ready.pop();
    sorted.push_back(std::move(fusion.groups[g]));
    for (const int reader : readers[g]) {
      if (--missing[reader] == 0) ready.emplace(last[reader], reader);
    }
  }
  NEAP_CHECK(sorted.size() == count, "the groups depend on each other");
  fusion.groups = std::move(sorted);
  for (size_t g = 0; g < count; ++g) {
    for (const ValueId v : fusion.groups[g].roots) fusion.group_of[v] = static_cast<int>(g);
  }
}

}  // namespace neap::planner
