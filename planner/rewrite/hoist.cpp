#include "planner/rewrite/hoist.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "planner/kernels/cost.h"
#include "planner/plan/graph_edit.h"
#include "trace/graph/loop.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr double kDear = 16;                   // of an element; others cost no more than to read them
constexpr size_t kFewBytes = size_t{4} << 10;  // of all values of a loop that move whatever it holds
constexpr size_t kMostValues = 1000;           // that one is computed of: others stay

bool may_move(const Node& node) {
  if (node.outputs.size() != 1) return false;
  switch (op_info(node.op).family) {
    case Family::control:
    case Family::call:
    case Family::host:
    case Family::collective: return false;
    default: return true;
  }
}

// A while_loop may end before it begins: of what it would compute only what fuses is then computed for nothing, no
// products or factorizations.
bool may_have_no_iteration(const Node& loop) { return loop.op == Op::while_loop; }
bool repeats(const Node& loop) {
  const int64_t length = CountedLoop(loop.attrs).length;
  return may_have_no_iteration(loop) ? length != 1 : length > 1;  // a branch that is taken or not is a loop of one
}

class Hoister {
 public:
  Hoister(Builder& b, LoopParts& loop, bool only_few)
      : b_(b), loop_(loop), body_(loop.body), only_few_(only_few), outside_(body_.values.size(), no_value) {
    const size_t condition = loop.node.op == Op::while_loop ? loop.consts : SIZE_MAX;
    for (size_t i = 0; i < loop.consts + loop.carries; ++i) {
      const ValueId v = body_.inputs[i];
      const bool stays = i < loop.consts || (i != condition && body_.outputs[i - loop.consts] == v);
      if (stays) outside_[v] = loop.operands[i];
    }
    moves_.assign(body_.values.size(), false);
    for (const ValueId v : body_.inputs) moves_[v] = outside_[v] != no_value;
    for (const Node& node : body_.nodes) {
      const bool all = may_move(node) && std::ranges::all_of(node.inputs, [&](ValueId v) { return moves_[v]; });
      for (const ValueId v : node.outputs) moves_[v] = all;
    }
  }

  bool run() {
    if (repeats(loop_.node)) find();
    if (hoisted_.empty()) return false;
    std::ranges::reverse(hoisted_);
    for (const ValueId v : hoisted_) build(v);
    rewrite();
    return true;
  }

 private:
  // From the last node to the first: values that move, and that are read by what does not.
  void find() {
    std::vector<bool> read(body_.values.size(), false);
    for (const ValueId v : body_.outputs) read[v] = true;
    for (size_t n = body_.nodes.size(); n-- > 0;) {
      const Node& node = body_.nodes[n];
      if (std::ranges::none_of(node.outputs, [&](ValueId v) { return read[v]; })) continue;
      if (moves_[node.outputs[0]] && is_worth_it(node.out())) {
        hoisted_.push_back(node.out());
        continue;
      }
      for (const ValueId v : node.inputs) read[v] = true;
    }
  }

  bool is_worth_it(ValueId v) {
    std::set<ValueId> seen;
    double cost = 0;
    size_t bytes = 0;
    bool is_stored = false;
    const auto visit = [&](const auto& self, ValueId value) -> void {
      if (seen.size() > kMostValues || !seen.insert(value).second) return;
      const Node* node = body_.def(value);
      if (!node) {
        bytes += body_.aval(value).bytes();
        return;
      }
      is_stored = is_stored || !is_fusible(node->op);
      cost += element_cost(body_, *node) * static_cast<double>(body_.aval(value).size());
      for (const ValueId in : node->inputs) self(self, in);
    };
    visit(visit, v);
    const Aval& aval = body_.aval(v);
    if (seen.size() > kMostValues || bytes == 0) return false;
    if (is_stored ? may_have_no_iteration(loop_.node) : cost <= kDear * static_cast<double>(aval.size())) return false;
    if (only_few_ ? held_ + aval.bytes() > kFewBytes : aval.bytes() > std::max(kFewBytes, bytes)) return false;
    held_ += aval.bytes();
    return true;
  }

  ValueId build(ValueId v) {
    if (outside_[v] != no_value) return outside_[v];
    const Node& node = *body_.def(v);
    std::vector<ValueId> inputs;
    for (const ValueId in : node.inputs) inputs.push_back(build(in));
    return outside_[v] = b_.add(node.op, std::move(inputs), node.attrs, node.loc);
  }

  void rewrite() {
    Graph result;
    result.name = body_.name;
    std::vector<ValueId> renamed(body_.values.size(), no_value);
    const auto add_inputs = [&](const std::vector<ValueId>& values, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) renamed[values[i]] = result.add_input(body_.aval(values[i]));
    };
    add_inputs(body_.inputs, 0, loop_.consts);
    add_inputs(hoisted_, 0, hoisted_.size());
    add_inputs(body_.inputs, loop_.consts, body_.inputs.size());
    for (const Node& node : body_.nodes) {
      if (renamed[node.outputs[0]] == no_value) append_renamed(result, body_, node, renamed);
    }
    for (const ValueId v : body_.outputs) result.outputs.push_back(renamed[v]);
    std::vector<ValueId> operands;
    for (const ValueId v : hoisted_) operands.push_back(outside_[v]);
    loop_.operands.insert(loop_.operands.begin() + static_cast<ptrdiff_t>(loop_.consts), operands.begin(),
                          operands.end());
    loop_.consts += hoisted_.size();
    loop_.body = std::move(result);
  }

  Builder& b_;
  LoopParts& loop_;
  const Graph& body_;
  const bool only_few_;
  size_t held_ = 0;               // bytes, of those that move
  std::vector<ValueId> outside_;  // of values of the body: the same before the loop
  std::vector<bool> moves_;       // whether it does not change from iteration to iteration
  std::vector<ValueId> hoisted_;
};

}  // namespace

void hoist_few(Builder& b, LoopParts& loop) { Hoister(b, loop, true).run(); }

std::optional<Graph> hoist_from_loops(const Graph& graph) {
  Builder b(Builder::Level::full);
  std::vector<ValueId> renamed = copy_inputs(b.graph, graph);
  bool changed = false;
  for (const Node& node : graph.nodes) {
    if (!is_loop(node.op)) {
      append_renamed(b.graph, graph, node, renamed);
      continue;
    }
    const Graph& body = *node.attrs.graph(Attr::body);
    const std::optional<Graph> inner = hoist_from_loops(body);
    const LoopLayout layout(node.attrs);
    LoopParts parts{node, inner.value_or(body), {}, layout.consts, layout.carries};
    for (const ValueId v : node.inputs) parts.operands.push_back(renamed[v]);
    changed = Hoister(b, parts, false).run() || inner || changed;
    const NodeId id = append_copy(b.graph, graph, node, std::move(parts.operands));
    b.graph.nodes[id].attrs.set(Attr::body, std::make_shared<const Graph>(std::move(parts.body)));
    b.graph.nodes[id].attrs.set(Attr::num_consts, static_cast<int64_t>(parts.consts));
    for (size_t i = 0; i < node.outputs.size(); ++i) renamed[node.outputs[i]] = b.graph.nodes[id].outputs[i];
  }
  if (!changed) return std::nullopt;
  for (const ValueId v : graph.outputs) b.graph.outputs.push_back(renamed[v]);
  return std::move(b.graph);
}

}  // namespace neap::planner
