#include "planner/rewrite/narrow_totals.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "planner/kernels/cost.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/queries.h"
#include "trace/graph/loop.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kSmaller = 4;    // what takes its place is smaller than a total by this factor or more
constexpr size_t kMostWork = 16;  // elements computed in a step in place of one of the total
constexpr double kCheap = 8;      // an element, of what the functions read besides

// A carry that each step adds to, and what is read of it.
struct Total {
  size_t carry = 0;
  std::vector<NodeId> sums;      // of the body: additions to the carry, in their order
  std::vector<ValueId> terms;    // of the body: what they add
  std::vector<bool> functions;   // of the graph's nodes: linear in the total
  std::vector<bool> beside;      // of the graph's nodes: computed in the body too, as the functions read it
  std::vector<ValueId> leaves;   // of the graph: read by those, and small
  std::vector<ValueId> results;  // of the graph: what takes its place
};

// Whether a node is linear in operands of which it is known which follow from the total.
bool is_linear(const Node& node, const std::vector<bool>& follows) {
  switch (node.op) {
    case Op::negative:
    case Op::reshape:
    case Op::transpose:
    case Op::broadcast_in_dim:
    case Op::slice:
    case Op::reduce_sum: return true;
    case Op::add:
    case Op::subtract: return follows[node.inputs[0]] && follows[node.inputs[1]];
    case Op::multiply: return follows[node.inputs[0]] != follows[node.inputs[1]];
    default: return false;
  }
}

class TotalFinder {
 public:
  TotalFinder(const Graph& graph, NodeId loop, size_t least_bytes)
      : graph_(graph), id_(loop), loop_(graph.nodes[loop]), least_bytes_(least_bytes) {}

  std::optional<Total> find() {
    for (size_t i = 0; i < loop_.carries; ++i) {
      Total total{i};
      if (find_sums(total) && find_functions(total)) return total;
    }
    return std::nullopt;
  }

 private:
  // The carry begins at zero, and a step only adds to it.
  bool find_sums(Total& total) const {
    const Graph& body = loop_.body;
    ValueId v = body.inputs[loop_.consts + total.carry];
    const Aval& aval = body.aval(v);
    const bool is_wide = aval.dtype == DType::f32 || aval.dtype == DType::f64;  // halves overflow in sums of their own
    if (!is_wide || aval.bytes() < least_bytes_) return false;
    if (!is_zero(graph_, loop_.node.inputs[loop_.consts + total.carry])) return false;
    const std::vector<int> uses = count_uses(body);
    for (size_t n = 0; n < body.nodes.size(); ++n) {
      const Node& node = body.nodes[n];
      if (node.op != Op::add || std::ranges::count(node.inputs, v) != 1) continue;
      if (uses[v] != 1) return false;
      total.sums.push_back(static_cast<NodeId>(n));
      total.terms.push_back(node.inputs[node.inputs[0] == v ? 1 : 0]);
      v = node.out();
    }
    return !total.sums.empty() && uses[v] == 1 && v == body.outputs[total.carry];
  }

  // All that reads the total is linear in it, until it is small.
  bool find_functions(Total& total) const {
    const ValueId whole = loop_.node.outputs[total.carry];
    const size_t bytes = graph_.aval(whole).bytes();
    std::vector<bool> follows(graph_.values.size(), false);
    total.functions.assign(graph_.nodes.size(), false);
    total.beside.assign(graph_.nodes.size(), false);
    follows[whole] = true;
    size_t work = 0, left = 0;
    for (size_t n = static_cast<size_t>(id_) + 1; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (std::ranges::none_of(node.inputs, [&](ValueId v) { return follows[v]; })) continue;
      if (!is_linear(node, follows)) return false;
      total.functions[n] = true;
      work += static_cast<size_t>(graph_.aval(node.out()).size());
      if (graph_.aval(node.out()).bytes() * kSmaller > bytes) {
        follows[node.out()] = true;
        continue;
      }
      total.results.push_back(node.out());
      left += graph_.aval(node.out()).bytes();
    }
    if (std::ranges::any_of(graph_.outputs, [&](ValueId v) { return follows[v]; })) return false;
    const bool is_less = !total.results.empty() && left * kSmaller <= bytes;
    return is_less && work <= kMostWork * static_cast<size_t>(graph_.aval(whole).size()) &&
           find_operands(total, follows);
  }

  // What the functions read besides is small, or follows from what is.
  bool find_operands(Total& total, const std::vector<bool>& follows) const {
    const size_t most = graph_.aval(loop_.node.outputs[total.carry]).bytes() / kSmaller;
    double cost = 0;
    std::vector<bool> known(graph_.values.size(), false);
    std::vector<ValueId> pending;
    const auto read = [&](const Node& node) {
      for (const ValueId v : node.inputs) {
        if (follows[v] || known[v]) continue;
        known[v] = true;
        pending.push_back(v);
      }
    };
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (total.functions[n]) read(graph_.nodes[n]);
    }
    size_t bytes = 0;
    while (!pending.empty()) {
      const ValueId v = pending.back();
      pending.pop_back();
      const Node* node = graph_.def(v);
      const size_t own = graph_.aval(v).bytes();
      const bool is_there = graph_.values[v].def < id_ && !(node && node->op == Op::constant);
      if (is_there && own <= most) {
        bytes += own;
        total.leaves.push_back(v);
        continue;
      }
      if (!node || !is_fusible(node->op) || node->attrs.has(Attr::marks)) return false;
      if (total.functions[graph_.values[v].def]) return false;
      cost += element_cost(graph_, *node);
      total.beside[graph_.values[v].def] = true;
      read(*node);
    }
    std::ranges::sort(total.leaves);
    return bytes <= most && cost <= kCheap;
  }

  const Graph& graph_;
  const NodeId id_;
  const LoopView loop_;
  const size_t least_bytes_;
};

class TotalWriter {
 public:
  TotalWriter(const Graph& graph, NodeId loop, const Total& total)
      : graph_(graph), id_(loop), loop_(graph.nodes[loop]), total_(total) {}

  Graph run() {
    renamed_ = copy_inputs(result_, graph_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (static_cast<NodeId>(n) == id_)
        write_loop();
      else if (!total_.functions[n])
        append_renamed(result_, graph_, graph_.nodes[n], renamed_);
    }
    for (const ValueId v : graph_.outputs) result_.outputs.push_back(renamed_[v]);
    return std::move(result_);
  }

 private:
  // The loop's operands, and the inputs of its new body: leaves follow its constants, and what takes the total's place
  // its other carries.
  std::vector<ValueId> add_operands() {
    std::vector<ValueId> operands;
    const auto keep = [&](size_t i) {
      const ValueId own = loop_.body.inputs[i];
      operands.push_back(renamed_[loop_.node.inputs[i]]);
      inside_[own] = body_.add_input(loop_.body.aval(own));
    };
    for (size_t i = 0; i < loop_.consts; ++i) keep(i);
    for (const ValueId leaf : total_.leaves) {
      operands.push_back(renamed_[leaf]);
      outside_[leaf] = body_.add_input(graph_.aval(leaf));
    }
    for (size_t i = 0; i < loop_.carries; ++i) {
      if (i != total_.carry) keep(loop_.consts + i);
    }
    for (const ValueId v : total_.results) {
      const Aval& aval = graph_.aval(v);
      operands.push_back(result_.constant(0, aval.dtype, aval.shape));
      totals_.push_back(body_.add_input(aval));
    }
    for (size_t i = loop_.consts + loop_.carries; i < loop_.operands; ++i) keep(i);
    return operands;
  }

  void write_body() {
    for (size_t n = 0; n < loop_.body.nodes.size(); ++n) {
      if (std::ranges::count(total_.sums, static_cast<NodeId>(n)) > 0) continue;
      append_renamed(body_, loop_.body, loop_.body.nodes[n], inside_);
    }
    ValueId added = inside_[total_.terms[0]];
    for (size_t i = 1; i < total_.terms.size(); ++i) {
      added = body_.add(Op::add, {added, inside_[total_.terms[i]]}, {}, loop_.node.loc);
    }
    outside_[loop_.node.outputs[total_.carry]] = added;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (total_.beside[n] || total_.functions[n]) append_renamed(body_, graph_, graph_.nodes[n], outside_);
    }
    const auto out = [&](size_t i) { body_.outputs.push_back(inside_[loop_.body.outputs[i]]); };
    for (size_t i = 0; i < loop_.carries; ++i) {
      if (i != total_.carry) out(i);
    }
    for (size_t i = 0; i < total_.results.size(); ++i) {
      body_.outputs.push_back(body_.add(Op::add, {totals_[i], outside_[total_.results[i]]}, {}, loop_.node.loc));
    }
    for (size_t i = loop_.carries; i < loop_.results; ++i) out(i);
  }

  void write_loop() {
    body_.name = loop_.body.name;
    inside_.assign(loop_.body.values.size(), no_value);
    outside_.assign(graph_.values.size(), no_value);
    std::vector<ValueId> operands = add_operands();
    write_body();
    Attrs attrs = loop_.node.attrs;
    attrs.set(Attr::body, std::make_shared<const Graph>(std::move(body_)));
    attrs.set(Attr::num_consts, static_cast<int64_t>(loop_.consts + total_.leaves.size()));
    attrs.set(Attr::num_carry, static_cast<int64_t>(loop_.carries - 1 + total_.results.size()));
    const NodeId id = result_.add_node(Op::scan, std::move(operands), std::move(attrs), loop_.node.loc);
    const std::vector<ValueId>& outputs = result_.nodes[id].outputs;
    size_t next = 0;
    for (size_t i = 0; i < loop_.carries; ++i) {
      if (i != total_.carry) renamed_[loop_.node.outputs[i]] = outputs[next++];
    }
    for (const ValueId v : total_.results) renamed_[v] = outputs[next++];
    for (size_t i = loop_.carries; i < loop_.results; ++i) renamed_[loop_.node.outputs[i]] = outputs[next++];
  }

  const Graph& graph_;
  const NodeId id_;
  const LoopView loop_;
  const Total& total_;
  Graph result_, body_;
  std::vector<ValueId> renamed_;           // values of the graph in the result
  std::vector<ValueId> inside_, outside_;  // values of the old body, of the graph: in the new body
  std::vector<ValueId> totals_;            // the new carries, in the new body
};

// One total of the graph itself.
std::optional<Graph> narrow_one(const Graph& graph, size_t least_bytes) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op != Op::scan) continue;
    const auto loop = static_cast<NodeId>(n);
    if (const std::optional<Total> total = TotalFinder(graph, loop, least_bytes).find()) {
      return TotalWriter(graph, loop, *total).run();
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Graph> narrow_totals(const Graph& graph, size_t least_bytes) {
  std::optional<Graph> result;
  const auto current = [&]() -> const Graph& { return result ? *result : graph; };
  while (std::optional<Graph> next = narrow_one(current(), least_bytes)) result = std::move(next);
  for (size_t n = 0; n < current().nodes.size(); ++n) {
    if (!is_loop(current().nodes[n].op)) continue;
    std::optional<Graph> body = narrow_totals(*current().nodes[n].attrs.graph(Attr::body), least_bytes);
    if (!body) continue;
    if (!result) result = graph;
    result->nodes[n].attrs.set(Attr::body, std::make_shared<const Graph>(*std::move(body)));
  }
  return result;
}

}  // namespace neap::planner
