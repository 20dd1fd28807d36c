#include "planner/search/sink.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "planner/fuse/groups.h"
#include "planner/kernels/cost.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/queries.h"
#include "planner/search/rematerialize.h"
#include "trace/graph/loop.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kSmallGraph = 200;  // up to these a graph may grow by more than twice its nodes: it is planned at once

bool is_loop(const Node& node) { return node.op == Op::scan || node.op == Op::while_loop; }

class Sinker {
 public:
  explicit Sinker(const Planned& planned)
      : graph_(planned.graph), stored_(stored_values(planned)), renamed_(copy_inputs(result_, graph_)) {
    find_constants(planned.plan);
  }

  std::optional<Graph> run() {
    if (std::ranges::none_of(is_constant_, [](bool b) { return b; })) return std::nullopt;
    for (const Node& node : graph_.nodes) {
      if (!is_loop(node) || !rewrite(LoopView(node))) append_renamed(result_, graph_, node, renamed_);
    }
    if (!changed_) return std::nullopt;
    for (const ValueId v : graph_.outputs) result_.outputs.push_back(renamed_[v]);
    Graph result = drop_dead_code(std::move(result_));
    if (count_nodes(result) > std::max(kSmallGraph, 2 * count_nodes(graph_))) return std::nullopt;
    return result;
  }

 private:
  // Marks values that are stored for loops alone, which only read them, and are alive at the peak.
  void find_constants(const PlanData& plan) {
    is_constant_.assign(graph_.values.size(), false);
    std::vector<bool> read_otherwise(graph_.values.size(), false);
    for (const ValueId v : graph_.outputs) read_otherwise[view_root(graph_, v)] = true;
    for (const Node& node : graph_.nodes) {
      const size_t constants = is_loop(node) ? LoopLayout(node.attrs).consts : 0;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (i >= constants && node.op != Op::reshape) read_otherwise[view_root(graph_, node.inputs[i])] = true;
      }
      for (size_t i = 0; i < constants; ++i) is_constant_[view_root(graph_, node.inputs[i])] = true;
    }
    std::vector<bool> at_peak(graph_.values.size(), false);
    for (const int b : alive_at(plan, peak_step(plan))) {
      if (plan.buffers[b].value != no_value) at_peak[plan.buffers[b].value] = true;
    }
    for (size_t v = 0; v < is_constant_.size(); ++v) {
      const Node* node = graph_.def(static_cast<ValueId>(v));
      is_constant_[v] = is_constant_[v] && !read_otherwise[v] && at_peak[v] && node && is_fusible(node->op) &&
                        !node->attrs.has(Attr::marks);
    }
    for (size_t v = 0; v < is_constant_.size(); ++v) {
      if (is_constant_[v]) stored_[v] = false;  // what is made of it is made of what it is of
    }
  }

  // What a loop's body takes in place of a constant, where that is less.
  std::optional<Expression> expression_of(ValueId constant) {
    Expression expression = expressions_(stored_, {constant});
    if (!is_cheap(expression)) return std::nullopt;
    size_t bytes = 0;
    for (const ValueId leaf : expression.leaves) bytes += graph_.aval(leaf).bytes();
    if (bytes >= graph_.aval(constant).bytes()) return std::nullopt;
    return expression;
  }

  bool rewrite(const LoopView& loop) {
    std::set<ValueId> leaves;
    std::set<NodeId> nodes;
    std::vector<bool> sinks(loop.consts, false);
    for (size_t i = 0; i < loop.consts; ++i) {
      const ValueId v = loop.node.inputs[i];
      const std::optional<Expression> expression = is_constant_[view_root(graph_, v)] ? expression_of(v) : std::nullopt;
      if (!expression) continue;
      sinks[i] = true;
      leaves.insert(expression->leaves.begin(), expression->leaves.end());
      nodes.insert(expression->nodes.begin(), expression->nodes.end());
    }
    if (nodes.empty()) return false;

    Graph body;
    body.name = loop.body.name;
    std::vector<ValueId> operands, outside(graph_.values.size(), no_value), inside(loop.body.values.size(), no_value);
    const auto keep = [&](size_t i) {
      const ValueId v = loop.node.inputs[i], own = loop.body.inputs[i];
      operands.push_back(renamed_[v]);
      inside[own] = body.add_input(loop.body.aval(own));
      if (i < loop.consts && leaves.erase(v)) outside[v] = inside[own];
    };
    for (size_t i = 0; i < loop.consts; ++i) {
      if (!sinks[i]) keep(i);
    }
    for (const ValueId leaf : leaves) {
      operands.push_back(renamed_[leaf]);
      outside[leaf] = body.add_input(graph_.aval(leaf));
    }
    const auto constants = static_cast<int64_t>(operands.size());
    for (size_t i = loop.consts; i < loop.operands; ++i) keep(i);
    for (const NodeId id : nodes) append_renamed(body, graph_, graph_.nodes[id], outside);
    for (size_t i = 0; i < loop.consts; ++i) {
      if (sinks[i]) inside[loop.body.inputs[i]] = outside[loop.node.inputs[i]];
    }
    for (const Node& node : loop.body.nodes) append_renamed(body, loop.body, node, inside);
    for (const ValueId v : loop.body.outputs) body.outputs.push_back(inside[v]);

    const NodeId id = append_copy(result_, graph_, loop.node, std::move(operands));
    Attrs& attrs = result_.nodes[id].attrs;
    attrs.set(Attr::body, std::make_shared<const Graph>(std::move(body)));
    attrs.set(Attr::num_consts, constants);
    for (size_t i = 0; i < loop.results; ++i) renamed_[loop.node.outputs[i]] = result_.nodes[id].outputs[i];
    return changed_ = true;
  }

  const Graph& graph_;
  std::vector<bool> stored_;       // of each value: in memory, but for such constants
  std::vector<bool> is_constant_;  // of each value: stored for loops alone
  ExpressionFinder expressions_{graph_};
  Graph result_;
  std::vector<ValueId> renamed_;
  bool changed_ = false;
};

}  // namespace

std::optional<Graph> sink_into_loops(const Planned& planned) { return Sinker(planned).run(); }

}  // namespace neap::planner
