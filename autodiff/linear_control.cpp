#include "autodiff/linear_control.h"

#include <algorithm>

#include <neap/creation.h>
#include <neap/error.h>

#include <fmt/format.h>

#include "autodiff/scan.h"
#include "trace/graph/effects.h"
#include "trace/graph/host_call.h"
#include "trace/graph/op_table.h"

namespace neap::autodiff {

using tracing::Arrays;
using tracing::Attr;
using tracing::Family;
using tracing::Node;
using tracing::Op;

Worth worth_in_body(const Graph& body, const std::vector<bool>& varies, ValueId v) {
  if (!varies[v]) return Worth::nothing;
  switch (tracing::op_info(body.def(v)->op).family) {
    case Family::dot:
    case Family::convolution:
    case Family::fft:
    case Family::reduce:
    case Family::argreduce:
    case Family::sort:
    case Family::cumulative:
    case Family::factor:
    case Family::scatter:
    case Family::control:
    case Family::host:
    case Family::collective:
    case Family::call: return Worth::residual;
    default: return Worth::little;
  }
}

Graph split_control(const Graph& g, const std::vector<bool>& unknown_inputs) {
  const auto is_control = [](const Node& node) { return tracing::op_info(node.op).family == Family::control; };
  if (std::ranges::none_of(g.nodes, is_control)) return g;
  Copier copy(g);
  for (const ValueId v : g.inputs) copy.input(v);
  std::vector<bool> unknown(g.values.size(), false);
  for (size_t i = 0; i < g.inputs.size(); ++i) unknown[g.inputs[i]] = unknown_inputs[i];
  for (const Node& node : g.nodes) {
    std::vector<bool> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(unknown[v]);
    const bool depends = std::ranges::find(inputs, true) != inputs.end();
    std::vector<bool> outputs(node.outputs.size(), depends);
    if (!depends || !is_control(node)) {
      copy.node(node);
    } else {
      outputs = node.op == Op::scan         ? split_scan(node, inputs, copy)
                : node.op == Op::while_loop ? split_while(node, inputs, copy)
                                            : split_cond(node, inputs, copy);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) unknown[node.outputs[i]] = outputs[i];
  }
  copy.to.outputs = copy.all(g.outputs);
  copy.to.num_captured = g.num_captured;
  return std::move(copy.to);
}

namespace {

// The loop as the unknown half runs it: of what has an effect it calls what depends on the unknown alone. `body` is the
// loop's, with its own loops and branches cut. What a function gave in each step is not kept.
Node run_again(const Node& node, const Graph& body, const std::vector<bool>& unknown) {
  Node again = tracing::without_effects(node);
  if (const Node* call = tracing::first_effect(again))
    throw_user<UserError>(
        "while_loop",
        fmt::format("the linear map of a loop that reads what {} gives", call->attrs.function(Attr::callee)->name),
        "a loop that can be run again, or jvp",
        "use scan or fori_loop with integer bounds, which keep what it gave, or call it before the loop", node.loc);
  const std::vector<bool> depends = depends_on(body, unknown);
  const auto is_called = [&](const Node& n) { return depends[n.out()] && tracing::has_effects(n); };
  if (std::ranges::none_of(body.nodes, is_called)) return again;
  const std::vector<bool> live = tracing::live_nodes(body, is_called);
  Copier copy(body);
  for (const ValueId v : body.inputs) copy.input(v);
  for (size_t i = 0; i < live.size(); ++i) {
    const Node& n = body.nodes[i];
    if (live[i]) copy.node(depends[n.out()] ? n : tracing::without_effects(n));
  }
  copy.to.outputs = copy.all(body.outputs);
  again.attrs.set(Attr::body, std::make_shared<const Graph>(std::move(copy.to)));
  return again;
}

}  // namespace

std::vector<bool> split_while(const Node& node, const std::vector<bool>& unknown_inputs, Copier& copy) {
  const LoopView loop(node);
  std::vector<bool> unknown = unknown_inputs, results(loop.results);
  Graph body;
  for (bool settled = false; !settled;) {  // a carry is unknown when it starts so or the body makes it so
    body = split_control(loop.body, unknown);
    const std::vector<bool> depends = depends_on(body, unknown);
    settled = true;
    for (size_t i = 0; i < loop.carries; ++i) {
      results[i] = unknown[loop.consts + i] || depends[body.outputs[i]];
      if (results[i] == unknown[loop.consts + i]) continue;
      unknown[loop.consts + i] = true;
      settled = false;
    }
  }
  if (results[0]) {  // how often it runs is not known
    copy.node(node);
    return std::vector<bool>(loop.results, true);
  }
  if (std::ranges::find(results, true) != results.end())
    copy.node(run_again(node, body, unknown), [&](ValueId v) {
      return results[static_cast<size_t>(std::ranges::find(node.outputs, v) - node.outputs.begin())];
    });
  Graph known = split(body, unknown, results, [](ValueId) { return Worth::nothing; }).known;
  std::vector<ValueId> operands;
  size_t consts = 0, carries = 0;
  for (size_t i = 0; i < loop.operands; ++i) {
    if (unknown[i]) continue;
    operands.push_back(copy[node.inputs[i]]);
    ++(loop.is_const(i) ? consts : carries);
  }
  known.outputs.resize(carries);
  const tracing::NodeId id = copy.to.add_node(
      node.op, operands, loop_attrs(loop, tracing::eliminate_dead_code(known), consts, carries), node.loc);
  for (size_t i = 0, next = 0; i < loop.results; ++i)
    if (!results[i]) copy.set(node.outputs[i], copy.to.nodes[id].outputs[next++]);
  return results;
}

namespace {

// Branch is a branch in two halves, and says where the unknown one finds its residuals: they are operands of the cond,
// or results of its known half in slots that the branches share.
struct Branch {
  Attr attr;
  Split halves;
  std::vector<int> operand, slot;  // of each residual; -1: none

  size_t known_results() const { return halves.known.outputs.size() - halves.residuals.size(); }

  void find_residuals(const std::vector<size_t>& known_operands, std::vector<Aval>& slots) {
    std::vector<bool> taken(slots.size(), false);
    for (size_t r = 0; r < halves.residuals.size(); ++r) {
      const ValueId value = halves.known.outputs[known_results() + r];
      const bool at_hand = halves.known.values[value].def == tracing::no_node;
      operand.push_back(
          at_hand ? static_cast<int>(known_operands[static_cast<size_t>(halves.known.values[value].index)]) : -1);
      slot.push_back(-1);
      if (at_hand) continue;
      const Aval& aval = halves.known.aval(value);
      size_t s = 0;
      while (s < taken.size() && (taken[s] || slots[s] != aval)) ++s;
      if (s == slots.size()) slots.push_back(aval);
      taken.resize(slots.size(), false);
      taken[s] = true;
      slot[r] = static_cast<int>(s);
    }
  }

  // Known operands -> known results, slots.
  Graph known(const std::vector<Aval>& slots) const {
    return tracing::trace_closed(halves.known.avals(halves.known.inputs), [&](const Arrays& in) {
      const Arrays out = tracing::inline_graph(halves.known, in);
      const auto results = static_cast<std::ptrdiff_t>(known_results());
      Arrays all(out.begin(), out.begin() + results);
      for (size_t s = 0; s < slots.size(); ++s) {
        const auto r = std::ranges::find(slot, static_cast<int>(s)) - slot.begin();
        all.push_back(r < std::ssize(slot) ? out[static_cast<size_t>(results + r)]
                                           : zeros(slots[s].shape, slots[s].dtype));
      }
      return all;
    });
  }

  // Operands `given`, slots, unknown operands -> unknown results.
  Graph unknown(const std::vector<int>& given, const std::vector<Aval>& parameters) const {
    return tracing::trace_closed(parameters, [&](const Arrays& in) {
      Arrays inputs;
      for (size_t r = 0; r < slot.size(); ++r) {
        const auto place =
            slot[r] >= 0 ? std::ssize(given) + slot[r] : std::ranges::find(given, operand[r]) - given.begin();
        inputs.push_back(in[static_cast<size_t>(place)]);
      }
      const size_t own = halves.unknown.inputs.size() - slot.size();
      inputs.insert(inputs.end(), in.end() - static_cast<std::ptrdiff_t>(own), in.end());
      return tracing::inline_graph(halves.unknown, inputs);
    });
  }
};

}  // namespace

std::vector<bool> split_cond(const Node& node, const std::vector<bool>& unknown, Copier& copy) {
  const std::vector<bool> arguments(unknown.begin() + 1, unknown.end());
  std::vector<bool> results(node.outputs.size(), false);
  std::vector<Graph> bodies;
  constexpr Attr kBranches[] = {Attr::body, Attr::otherwise};
  for (const Attr attr : kBranches) {
    bodies.push_back(split_control(*node.attrs.graph(attr), arguments));
    const std::vector<bool> depends = depends_on(bodies.back(), arguments);
    for (size_t i = 0; i < results.size(); ++i) results[i] = results[i] || depends[bodies.back().outputs[i]];
  }
  std::vector<size_t> known_operands;  // by argument
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i]) known_operands.push_back(i);
  std::vector<Aval> slots;
  std::vector<Branch> branches;
  for (size_t k = 0; k < 2; ++k) {
    const Graph& body = bodies[k];
    const std::vector<bool> varies = depends_on(body, std::vector<bool>(arguments.size(), true));
    branches.push_back({kBranches[k],
                        split(body, arguments, results, [&](ValueId v) { return worth_in_body(body, varies, v); }),
                        {},
                        {}});
    branches[k].find_residuals(known_operands, slots);
  }

  const auto emit = [&](const std::vector<ValueId>& operands, auto&& branch_graph) {
    tracing::Attrs attrs = node.attrs;
    for (const Branch& branch : branches)
      attrs.set(branch.attr, std::make_shared<const Graph>(tracing::eliminate_dead_code(branch_graph(branch))));
    const tracing::NodeId id = copy.to.add_node(Op::cond, operands, std::move(attrs), node.loc);
    return copy.to.nodes[id].outputs;
  };
  const ValueId predicate = copy[node.inputs[0]];
  std::vector<ValueId> stored;
  const bool gives = branches[0].known_results() + slots.size() > 0;
  const bool has_effects =
      std::ranges::any_of(branches, [](const Branch& b) { return tracing::has_effects(b.halves.known); });
  if (gives || has_effects) {
    std::vector<ValueId> operands{predicate};
    for (const size_t i : known_operands) operands.push_back(copy[node.inputs[1 + i]]);
    // One that is there for its effects alone gives a number that nobody reads.
    const std::vector<Aval> given = gives ? slots : std::vector<Aval>{{{}, DType::u8}};
    stored = emit(operands, [&](const Branch& branch) { return branch.known(given); });
    if (!gives) stored.clear();
    size_t next = 0;
    for (size_t i = 0; i < results.size(); ++i)
      if (!results[i]) copy.set(node.outputs[i], stored[next++]);
    stored.erase(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(next));
  }
  if (std::ranges::find(results, true) == results.end()) return results;
  std::vector<int> given;
  for (const Branch& branch : branches)
    for (const int i : branch.operand)
      if (i >= 0 && std::ranges::find(given, i) == given.end()) given.push_back(i);
  std::vector<ValueId> operands{predicate};
  for (const int i : given) operands.push_back(copy[node.inputs[1 + static_cast<size_t>(i)]]);
  operands.insert(operands.end(), stored.begin(), stored.end());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i]) operands.push_back(copy[node.inputs[1 + i]]);
  std::vector<Aval> parameters;
  for (size_t i = 1; i < operands.size(); ++i) parameters.push_back(copy.to.aval(operands[i]));
  const std::vector<ValueId> made =
      emit(operands, [&](const Branch& branch) { return branch.unknown(given, parameters); });
  for (size_t i = 0, next = 0; i < results.size(); ++i)
    if (results[i]) copy.set(node.outputs[i], made[next++]);
  return results;
}

}  // namespace neap::autodiff
