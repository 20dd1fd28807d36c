// Cutting a scan that carries values and tangents into a scan of the values, which stacks what the other needs, and a
// linear scan of the tangents.
#include <algorithm>
#include <numeric>

#include "autodiff/linear_control.h"
#include "autodiff/scan.h"
#include "trace/graph/effects.h"

namespace neap::autodiff {
namespace {

using tracing::Node;
using tracing::Op;

struct CutBody {
  Split halves;
  std::vector<bool> unknown_inputs;
};

CutBody cut(const LoopView& scan, std::vector<bool> unknown) {
  Graph body;
  std::vector<bool> forced(scan.results, false);
  for (bool settled = false; !settled;) {  // a carry is unknown when it starts so or the body makes it so
    body = split_control(scan.body, unknown);
    const std::vector<bool> depends = depends_on(body, unknown);
    settled = true;
    for (size_t i = 0; i < scan.carries; ++i) {
      forced[i] = unknown[scan.consts + i] || depends[body.outputs[i]];
      if (forced[i] == unknown[scan.consts + i]) continue;
      unknown[scan.consts + i] = true;
      settled = false;
    }
  }
  std::vector<bool> changing(scan.operands);
  for (size_t i = 0; i < scan.operands; ++i) changing[i] = !scan.is_const(i);
  const std::vector<bool> varies = depends_on(body, changing);
  // Constants and stacked inputs are there in any case; all else is stacked.
  const auto cost = [&](ValueId v) {
    const tracing::Value& value = body.values[v];
    const bool at_hand = value.def == tracing::no_node && !scan.is_carry(static_cast<size_t>(value.index));
    return at_hand ? int64_t{0} : static_cast<int64_t>(value.aval.bytes());
  };
  return {split(body, unknown, forced, [&](ValueId v) { return worth_in_body(body, varies, v); }, cost), unknown};
}

// Emits the two scans into copy.to.
void emit(const LoopView& scan, const CutBody& body, Copier& copy) {
  const Split& halves = body.halves;
  const std::vector<bool>& unknown = body.unknown_inputs;

  // Residuals that are constants or stacked inputs are handed to the linear scan as they are; the rest is stacked.
  // The body was copied by split_control with its inputs in place, so input i of it has value id residual_input.
  Graph known = halves.known;
  const size_t known_outputs = known.outputs.size() - halves.residuals.size();
  std::vector<ValueId> stacked;
  std::vector<ValueId> const_operands, stacked_operands;  // of the linear scan; no_value: a stacked residual
  std::vector<size_t> const_inputs, stacked_inputs;       // inputs of halves.unknown
  std::vector<size_t> known_inputs;
  for (size_t i = 0; i < scan.operands; ++i)
    if (!unknown[i]) known_inputs.push_back(i);
  for (size_t r = 0; r < halves.residuals.size(); ++r) {
    const ValueId value = known.outputs[known_outputs + r];
    const bool is_input = known.values[value].def == tracing::no_node;
    const size_t input = is_input ? known_inputs[static_cast<size_t>(known.values[value].index)] : 0;
    if (is_input && scan.is_const(input)) {
      const_operands.push_back(copy[scan.node.inputs[input]]);
      const_inputs.push_back(r);
    } else {
      const bool at_hand = is_input && scan.is_stacked_input(input);
      if (!at_hand) stacked.push_back(value);
      stacked_operands.push_back(at_hand ? copy[scan.node.inputs[input]] : tracing::no_value);
      stacked_inputs.push_back(r);
    }
  }
  known.outputs.resize(known_outputs);
  known.outputs.insert(known.outputs.end(), stacked.begin(), stacked.end());

  // The scan of values.
  std::vector<ValueId> operands;
  size_t consts = 0, carries = 0;
  for (const size_t i : known_inputs) {
    operands.push_back(copy[scan.node.inputs[i]]);
    consts += scan.is_const(i);
    carries += scan.is_carry(i);
  }
  std::vector<ValueId> results;
  if (known.outputs.empty() && tracing::has_effects(known)) {  // it is there for its effects alone: a carry is added
    std::vector<size_t> order(known.inputs.size());
    std::iota(order.begin(), order.end(), size_t{0});
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(consts), known.inputs.size());
    known.outputs = {known.add_input({{}, DType::u8})};
    known = with_inputs_ordered(std::move(known), order);
    operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(consts), copy.to.constant(0, DType::u8));
    carries = 1;
  }
  if (!known.outputs.empty()) {
    const tracing::NodeId id = copy.to.add_node(
        Op::scan, operands,
        marked_as(scan.node,
                  scan_attrs(tracing::eliminate_dead_code(known), scan.length, consts, carries, scan.reverse)),
        scan.node.loc);
    results = copy.to.nodes[id].outputs;
  }
  for (size_t i = 0, next = 0; i < scan.results; ++i)
    if (!halves.unknown_outputs[i]) copy.set(scan.node.outputs[i], results[next++]);
  for (size_t next = known_outputs; ValueId & operand : stacked_operands)
    if (operand == tracing::no_value) operand = results[next++];

  if (halves.unknown.outputs.empty()) return;  // tangents come in, but nothing depends on them

  // The linear scan: residual constants, unknown constants, unknown carries, residual and unknown stacked inputs.
  operands = const_operands;
  std::vector<size_t> order = const_inputs;
  consts = const_operands.size();
  carries = 0;
  size_t next = halves.residuals.size();
  const auto take_unknown = [&](auto&& which) {
    for (size_t i = 0; i < scan.operands; ++i) {
      if (!unknown[i] || !which(i)) continue;
      operands.push_back(copy[scan.node.inputs[i]]);
      order.push_back(next++);
    }
  };
  take_unknown([&](size_t i) { return scan.is_const(i); });
  consts = operands.size();
  take_unknown([&](size_t i) { return scan.is_carry(i); });
  carries = operands.size() - consts;
  operands.insert(operands.end(), stacked_operands.begin(), stacked_operands.end());
  order.insert(order.end(), stacked_inputs.begin(), stacked_inputs.end());
  take_unknown([&](size_t i) { return scan.is_stacked_input(i); });
  const Graph linear = with_inputs_ordered(halves.unknown, order);
  const tracing::NodeId id = copy.to.add_node(
      Op::scan, operands, marked_as(scan.node, scan_attrs(linear, scan.length, consts, carries, scan.reverse)),
      scan.node.loc);
  for (size_t i = 0, out = 0; i < scan.results; ++i)
    if (halves.unknown_outputs[i]) copy.set(scan.node.outputs[i], copy.to.nodes[id].outputs[out++]);
}

}  // namespace

std::vector<bool> split_scan(const Node& node, const std::vector<bool>& unknown, Copier& copy) {
  const LoopView scan(node);
  const CutBody body = cut(scan, unknown);
  emit(scan, body, copy);
  return body.halves.unknown_outputs;
}

}  // namespace neap::autodiff
