#include "planner/fuse/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ranges>

#include "core/check.h"
#include "planner/fuse/groups.h"
#include "planner/kernels/cost.h"
#include "planner/kernels/counted_indices.h"
#include "planner/kernels/families.h"
#include "planner/kernels/frames.h"
#include "planner/kernels/naive_bound.h"
#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Storing takes bytes and a launch; computing again takes time and code. `neap-bench --case first-call` measures
// compiling, neap-plan-speed planning, tests/bench/check_peaks the bytes of every case; the numbers are not fitted.
constexpr double kOften = 4;             // evaluations by one reader,
constexpr double kDear = 16;             // of what costs more units than so many
constexpr double kMaxKernelNodes = 500;  // what LLVM compiles in reasonable time: a second, growing as the square
constexpr double kNodeCost = 12;         // units of one element; dearer nodes are long code and count as several
constexpr double kWorthAStep = 64;       // nodes of a scalar from which on it is stored for a kernel with too many
constexpr double kOfRows = 0.5;          // of the traffic of a value that steps read row by row,
constexpr size_t kRowBytes = size_t{128} << 10;  // of at most so much each
constexpr size_t kManyReaders = 64;              // readers of a value from which on it is taken to be needed to the end
constexpr size_t kSmallBytes = 64 * 1024;        // storing this much is always affordable
constexpr size_t kSmallShare = 16;               // or this part of what the program would hold if all were stored

// Where a scatter reads what it adds to what lies elsewhere.
constexpr Frame kFrameOfIndices = 1, kFrameOfUpdates = 2;

// Evaluations of a value's elements inside one group.
struct Use {
  int group;
  Evaluations evaluations;
};

class Fuser {
 public:
  Fuser(const Graph& graph, const FuseOptions& options, bool part_steps)
      : graph_(graph),
        options_(options),
        part_steps_(part_steps),
        stored_(must_store(graph)),
        counted_(counted_indices(graph)),
        expressions_(graph),
        uses_(graph.values.size()) {
    fusion_.group_of.assign(graph.values.size(), -1);
    fusion_.recomputed.assign(graph.values.size(), false);
    is_output_ = holds_output(graph);
    opaque_reader_.assign(graph.values.size(), no_value);
    made_.assign(graph.values.size() + 1, 0);
    for (size_t v = 0; v < graph.values.size(); ++v) {
      const bool is_made = stored_[v] && graph.def(static_cast<ValueId>(v));
      made_[v + 1] = made_[v] + (is_made ? graph.aval(static_cast<ValueId>(v)).bytes() : 0);
    }
    slack_ = std::min(kSmallBytes, naive_peak_at_least(graph, {}) / kSmallShare);
    readers_.resize(graph.values.size());
    potential_.assign(graph.values.size(), no_value);
    until_ = potential_;
    in_expression_.assign(graph.nodes.size(), no_value);
    for (auto id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
      const ValueId late = potential(id);
      for (const ValueId v : graph.nodes[id].inputs) {
        readers_[v].push_back(id);
        potential_[v] = std::max(potential_[v], late);
      }
    }
    ready_.assign(graph.values.size(), no_value);
    for (const Node& node : graph.nodes) {
      ValueId ready = no_value;
      for (const ValueId v : node.inputs) ready = std::max(ready, ready_[v]);
      for (const ValueId v : node.outputs) ready_[v] = stored_[v] ? v : ready;
    }
  }

  Fusion run() {
    fusion_.groups = share_steps(graph_, stored_);
    for (int g = 0; g < static_cast<int>(fusion_.groups.size()); ++g) {
      for (const ValueId v : fusion_.groups[g].roots) fusion_.group_of[v] = g;
    }
    nodes_.assign(fusion_.groups.size(), 0);
    for (auto id = static_cast<NodeId>(graph_.nodes.size()); id-- > 0;) visit(graph_.nodes[id]);
    std::ranges::reverse(fusion_.decisions);
    fusion_.could_part = would_part(graph_, stored_, fusion_);
    if (part_steps_) fusion_.groups = share_steps(graph_, stored_);
    sort_groups(graph_, fusion_);
    fusion_.stored = std::move(stored_);
    return std::move(fusion_);
  }

 private:
  double size(ValueId v) const { return static_cast<double>(graph_.aval(v).size()); }

  void visit(const Node& node) {
    if (is_join(node)) return;
    if (!is_fusible(node.op)) return visit_root(node, size(node.inputs.empty() ? node.out() : node.inputs[0]));
    const ValueId v = node.out();
    if (!stored_[v]) decide(node);
    if (stored_[v]) {
      if (fusion_.group_of[v] < 0) store(v);
      return visit_root(node, size(v));
    }
    if (uses_[v].empty()) return;
    note_reads(node);
    for (const Use& use : uses_[v]) {
      const auto copies = static_cast<double>(use.evaluations.frames().size());
      nodes_[use.group] += copies * std::max(1.0, expressions_.cost(graph_.values[v].def) / kNodeCost);
      for (const Evaluations::InFrame& f : use.evaluations.frames()) read_operands(node, use.group, f);
    }
  }

  void visit_root(const Node& node, double evaluations) {
    const Family family = op_info(node.op).family;
    if (is_opaque(traits(family).kind)) {
      for (const ValueId x : node.inputs) {
        ValueId& last = opaque_reader_[view_root(graph_, x)];
        last = std::max(last, node.outputs.back());
      }
      return;
    }
    const int group = fusion_.group_of[node.out()];
    if (family == Family::scatter) {
      const double updates = size(node.inputs[2]);
      const double rows = std::max(1.0, size(node.inputs[1]));
      read(node.inputs[0], group, {kFrameOfResults, size(node.out()), size(node.out())});
      read(node.inputs[1], group, {kFrameOfIndices, std::max(updates, rows), rows});
      read(node.inputs[2], group, {kFrameOfUpdates, updates, updates});
    } else {
      note_reads(node);
      read_operands(node, group, {kFrameOfResults, evaluations, evaluations});
    }
  }

  void store(ValueId v) {
    fusion_.group_of[v] = static_cast<int>(fusion_.groups.size());
    fusion_.groups.push_back({PlanStep::Kind::map, {v}});
    nodes_.push_back(0);
    stored_[v] = true;
  }

  void note_reads(const Node& node) {
    reads_.clear();
    for (size_t i = 0; i < node.inputs.size(); ++i) reads_.emplace_back(graph_, node, i);
  }

  // What evaluating `node`, whose reads are noted, so often in one frame asks of its operands.
  void read_operands(const Node& node, int group, const Evaluations::InFrame& f) {
    const double columns = node.op == Op::gather || node.op == Op::random_bits
                               ? static_cast<double>(graph_.aval(node.inputs.back()).shape.back())
                               : 1;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId x = node.inputs[i];
      double often = f.often, hoisted = f.hoisted;
      const Family family = op_info(node.op).family;
      if (family == Family::gather && i == 1) {
        const bool rows = graph_.aval(node.out()).size() > index_rows(graph_.aval(x));
        often *= columns;
        hoisted = rows ? row_evaluations(x, hoisted) : hoisted * columns;
      } else if (family == Family::random) {
        often *= 2;
        hoisted = row_evaluations(x, hoisted * 2);
      } else if (node.op == Op::broadcast_in_dim && spreads_rows(node)) {
        hoisted = row_evaluations(x, hoisted);
      }
      read(x, group, {reads_[i].frame(f.frame), often, hoisted});
    }
  }

  // A value of the row is computed once for the row, by scalar instructions.
  double row_evaluations(ValueId x, double evaluations) const { return std::min(evaluations, kLanes * size(x)); }

  // Whether each operand element fills a contiguous run of the output.
  bool spreads_rows(const Node& node) const {
    const Ints& axes = node.attrs.ints(Attr::axes);
    const Shape& shape = graph_.aval(node.inputs[0]).shape;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != static_cast<int64_t>(i) || shape[i] != node.attrs.ints(Attr::shape)[i]) return false;
    }
    return true;
  }

  void read(ValueId x, int group, const Evaluations::InFrame& by) {
    auto& uses = uses_[x];
    auto it = std::ranges::find(uses, group, &Use::group);
    if (it == uses.end()) it = uses.insert(uses.end(), Use{group, {}});
    it->evaluations.read(by);
  }

  // Store, or compute in every reader?
  void decide(const Node& node) {
    const ValueId v = node.out();
    // What is spread is stored instead, if it is dear.
    if (node.op == Op::broadcast_in_dim && graph_.aval(node.inputs[0]).size() <= graph_.aval(v).size() / 2) return;
    if (node.op == Op::constant || node.op == Op::iota || node.op == Op::reshape || uses_[v].empty()) return;
    if (counted_[v]) return;
    const double n = size(v);
    double evaluations = 0, hoisted = 0;
    bool crowded = false;
    for (const Use& use : uses_[v]) {
      evaluations += use.evaluations.often();
      hoisted += use.evaluations.hoisted();
      crowded |= nodes_[use.group] > kMaxKernelNodes;
    }
    const auto groups = static_cast<double>(uses_[v].size());
    if (crowded && n > 2 && n <= evaluations) return store(v);
    if (n <= 2) {  // nothing to compute, but every reader's kernel would hold the code
      if (!crowded && groups == 1) return;
      const auto nodes = static_cast<double>(expressions_(stored_, {v}).nodes.size());
      if (nodes * (groups - 1) > kMaxKernelNodes || (crowded && nodes > kWorthAStep)) store(v);
      return;
    }
    const bool in_place = groups == 1 && evaluations <= n, waiting = waits(v);
    if (in_place && !waiting) return;
    const Expression expression = expressions_(stored_, {v});
    if (prolongs_more_than_it_holds(v, expression, waiting)) return store(v);
    if (in_place) return;

    const auto bytes = static_cast<double>(graph_.aval(v).bytes());
    const bool small = bytes <= static_cast<double>(kSmallBytes);
    // What a row-wise value costs is bounded by hoisting, but storing a small one is sure.
    const double work = ((small ? evaluations : std::min(evaluations, hoisted)) - n) * expression.cost;
    const double traffic = (expression.cost > kDear && read_by_rows(v) ? kOfRows : 1) * bytes *
                               (kWriteUnitsPerByte + groups * kReadUnitsPerByte) +
                           kLaunchUnits;
    const bool random = !expression.random_nodes.empty() && !small;
    // What costs something may be computed by each reader, but not again and again by one of them.
    const bool often = expression.cost > kDear && std::min(evaluations, hoisted) > kOften * groups * n;
    const auto weight = [&](const FuseOptions& o) { return random ? o.random_weight : o.keep_weight; };
    const bool keep = work > traffic * (often ? std::min(weight(options_), weight({})) : weight(options_));
    // Choices about fewer units of an element are not worth a user's attention.
    if (groups > 1 && expression.cost >= 8) record(node, expression, keep, work, traffic);
    if (keep) {
      store(v);
    } else if (groups > 1 && expression.cost >= 8) {
      for (const NodeId id : expression.nodes) fusion_.recomputed[graph_.nodes[id].out()] = true;
    }
  }

  // Whether two steps read the value, each element once: sums of its rows, of which a cache holds some, and what is
  // made of it row by row. They share the cache, band by band (backends/cpu/row_runs.h), and what is made lies in its
  // place.
  bool read_by_rows(ValueId v) const {
    const Shape& shape = graph_.aval(v).shape;
    if (shape.size() < 2 || uses_[v].size() != 2) return false;
    if (static_cast<size_t>(shape.back()) * size_of(graph_.aval(v).dtype) > kRowBytes) return false;
    const auto in_its_place = [&](ValueId root) {
      return graph_.aval(root).shape == shape && size_of(graph_.aval(root).dtype) == size_of(graph_.aval(v).dtype);
    };
    int sums = 0;
    for (const Use& use : uses_[v]) {
      const std::vector<ValueId>& roots = fusion_.groups[use.group].roots;
      const Node& node = *graph_.def(roots[0]);
      if (use.evaluations.often() > size(v)) return false;
      if (op_info(node.op).family != Family::reduce) {
        const bool scatters = op_info(node.op).family == Family::scatter;
        if (scatters || !std::ranges::any_of(roots, in_its_place)) return false;
        continue;
      }
      const Ints& axes = node.attrs.ints(Attr::axes);
      if (graph_.aval(node.inputs[0]).shape != shape || axes != Ints{std::ssize(shape) - 1}) return false;
      ++sums;
    }
    return sums == 1;
  }

  // Whether computing the value in later steps would keep more alive until then, the stored values that it is of, than
  // the value itself: one of booleans; or any, while as much as it holds is made in between. A sum of products that is
  // read later would keep all of them.
  bool prolongs_more_than_it_holds(ValueId v, const Expression& expression, bool waiting) {
    const std::vector<ValueId> until = needed_without(v, expression);
    size_t prolonged = 0;
    const ValueId last = last_reader(v);
    for (size_t i = 0; i < expression.leaves.size(); ++i) {
      if (until[i] < last) prolonged += graph_.aval(expression.leaves[i]).bytes();
    }
    const size_t bytes = graph_.aval(v).bytes();
    if (graph_.aval(v).dtype == DType::bool_ && uses_[v].size() > 1) return prolonged > bytes;
    return waiting && prolonged > bytes + slack_;
  }
  // Whether as many bytes as the value has are made between what it is made of and who needs it.
  bool waits(ValueId v) const {
    const ValueId last = last_reader(v);
    return last > ready_[v] && made_[last] - made_[ready_[v] + 1] >= graph_.aval(v).bytes();
  }

  // The latest values that may need each leaf of the expression if `v` were stored: those that decided to, and those
  // that wait for their decision, as if nothing more were stored.
  std::vector<ValueId> needed_without(ValueId v, const Expression& expression) {
    const NodeId own = graph_.values[v].def;
    for (const NodeId id : expression.nodes) in_expression_[id] = v;
    for (const ValueId s : expression.leaves) until_[s] = no_value;
    for (const NodeId id : expression.nodes) until_[graph_.nodes[id].out()] = no_value;
    const auto look = [&](ValueId x) {
      until_[x] = std::max(until_[x], last_reader(x));
      if (readers_[x].size() > kManyReaders) {
        until_[x] = std::max(until_[x], potential_[x]);
        return;
      }
      for (const NodeId reader : readers_[x]) {
        if (reader < own && in_expression_[reader] != v) until_[x] = std::max(until_[x], potential(reader));
      }
    };
    for (const NodeId id : std::views::reverse(expression.nodes)) {
      if (id == own) continue;
      const ValueId x = graph_.nodes[id].out();
      look(x);
      for (const ValueId operand : graph_.nodes[id].inputs) until_[operand] = std::max(until_[operand], until_[x]);
    }
    std::vector<ValueId> until;
    for (const ValueId s : expression.leaves) {
      const bool stays = !graph_.def(s) || is_output_[s];
      if (!stays) look(s);
      until.push_back(stays ? std::numeric_limits<ValueId>::max() : until_[s]);
    }
    return until;
  }
  ValueId potential(NodeId reader) const {
    const ValueId v = graph_.nodes[reader].out();
    return stored_[v] ? v : potential_[v];
  }

  // The latest value that needs `v`.
  ValueId last_reader(ValueId v) const {
    ValueId last = std::max(v, opaque_reader_[v]);
    for (const Use& use : uses_[v]) last = std::max(last, fusion_.groups[use.group].roots.back());
    return last;
  }

  void record(const Node& node, const Expression& expression, bool keep, double work, double traffic) {
    if (fusion_.recomputed[node.out()]) return;  // part of a larger decision
    // The generator that it draws from, if it does.
    const Node* source = &node;
    for (const NodeId id : expression.random_nodes) {
      if (source == &node || graph_.nodes[id].op == Op::random_bits) source = &graph_.nodes[id];
    }
    const Node& subject = *source;
    Decision decision;
    decision.what = fmt::format("{} at {}", name(subject.op), to_string(subject.loc));
    decision.chosen = keep ? "keep" : "recompute";
    decision.reason = fmt::format("{} readers of {}: computing again costs {:.2g} of the traffic of keeping it",
                                  uses_[node.out()].size(), to_string(graph_.aval(node.out())), work / traffic);
    decision.alternatives = {{"keep", graph_.aval(node.out()).bytes(), traffic / kUnitsPerSecond},
                             {"recompute", 0, work / kUnitsPerSecond}};
    fusion_.decisions.push_back(std::move(decision));
  }

  const Graph& graph_;
  FuseOptions options_;
  bool part_steps_;
  std::vector<bool> stored_, counted_;
  ExpressionFinder expressions_;
  std::vector<std::vector<Use>> uses_;
  std::vector<OperandRead> reads_;  // of a node's operands
  std::vector<double> nodes_;       // of each group, in registers, for each frame
  std::vector<bool> is_output_;
  std::vector<ValueId> opaque_reader_;        // of each value: the latest opaque step that reads it
  size_t slack_ = 0;                          // bytes that may wait in place of fewer
  std::vector<size_t> made_;                  // bytes of the values before each that must be stored
  std::vector<std::vector<NodeId>> readers_;  // of each value
  std::vector<ValueId> potential_;  // of each value: the latest that must be stored and can be computed from it
  std::vector<ValueId> until_, in_expression_;  // of values and nodes, for needed_without
  std::vector<ValueId> ready_;  // of each: the latest of the values that must be stored and that it is made of
  Fusion fusion_;
};

}  // namespace

Fusion fuse(const Graph& graph, const FuseOptions& options, bool part_steps) {
  return Fuser(graph, options, part_steps).run();
}

Fusion fuse_nothing(const Graph& graph) {
  std::vector<bool> stored = must_store(graph);
  for (const Node& node : graph.nodes) {
    const bool view = node.op == Op::constant || node.op == Op::broadcast_in_dim || node.op == Op::reshape;
    if (!view && !has_mark(node, Mark::inner_product)) {
      for (const ValueId v : node.outputs) stored[v] = true;
    }
    if (op_info(node.op).family == Family::scatter) {
      for (const ValueId v : node.inputs) {
        if (graph.def(view_root(graph, v))) stored[view_root(graph, v)] = true;
      }
    }
  }
  Fusion fusion;
  fusion.recomputed.assign(graph.values.size(), false);
  fusion.groups = single_steps(graph, stored);
  sort_groups(graph, fusion);
  fusion.stored = std::move(stored);
  return fusion;
}

}  // namespace neap::planner
