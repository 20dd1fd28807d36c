#include "planner/alias.h"

#include <algorithm>

#include "planner/cost.h"
#include "planner/parts.h"
#include "planner/step_names.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace trace;

namespace {

// Whether the node reads its operand `v` at the output's index only.
bool keeps_index(const Node& node, ValueId v) {
  if (node.op == Op::dynamic_update_slice) return v == node.inputs[0] && v != node.inputs[1];
  return reads_same_index(node.op) || node.op == Op::reshape;
}

// Whether the group reads its input only at the element that it then writes to the output.
bool reads_at_index(const Graph& group, ValueId input, ValueId output) {
  std::vector<bool> depends(group.values.size(), false);
  depends[input] = true;
  for (const Node& node : group.nodes) {
    for (const ValueId v : node.inputs) {
      if (!depends[v]) continue;
      if (!keeps_index(node, v)) return false;
      depends[node.out()] = true;
    }
  }
  // Another output of the same step might be computed after this one is written.
  return std::ranges::none_of(group.outputs, [&](ValueId v) { return v != output && depends[v]; });
}

bool same_elements(const Aval& a, const Aval& b) {
  return a.size() == b.size() && size_of(a.dtype) == size_of(b.dtype);
}

std::ptrdiff_t index_of(const std::vector<int>& list, int b) { return std::ranges::find(list, b) - list.begin(); }

}  // namespace

bool can_alias(const PlanStep& step, int in, int out) {
  if (std::ranges::count(step.writes, out) != 1) return false;
  const ValueId output = step.group.outputs[index_of(step.writes, out)];
  if (step.kind == PlanStep::Kind::scatter) {
    if (std::ranges::count(step.reads, in) != 1) return false;
    // As the operand, whole and unchanged, and for nothing else.
    const ValueId input = step.group.inputs[index_of(step.reads, in)];
    const Node& node = *step.group.def(output);
    return node.inputs[0] == input && count_uses(step.group)[input] == 1;
  }
  if (step.kind != PlanStep::Kind::map) return false;
  for (size_t i = 0; i < step.reads.size(); ++i) {
    if (step.reads[i] != in) continue;
    const ValueId input = step.group.inputs[i];
    if (!same_elements(step.group.aval(input), step.group.aval(output)) || !reads_at_index(step.group, input, output)) {
      return false;
    }
  }
  return true;
}

void mark_in_place(PlanStep& step, int in, int out) {
  if (std::ranges::find(step.reads, in) == step.reads.end()) return;
  (void)out;
  if (step.kind == PlanStep::Kind::scatter) step.operand_in_place = true;
  if (step.kind == PlanStep::Kind::scatter || step.kind == PlanStep::Kind::map) name_in_place(step);
}

void alias_in_place(PlanData& plan) {
  const auto root = [&](int b) { return plan.buffers[b].alias_of < 0 ? b : plan.buffers[b].alias_of; };
  std::vector<bool> donated(plan.buffers.size(), false), owned_by_output(plan.buffers.size(), false);
  for (size_t i = 0; i < plan.inputs.size(); ++i) donated[plan.inputs[i]] = plan.donated[i];
  for (const int b : plan.outputs) owned_by_output[root(b)] = true;
  std::vector<bool> shared(plan.buffers.size(), false);  // others lie in its bytes
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of >= 0) shared[buffer.alias_of] = true;
  }

  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    PlanStep& step = plan.steps[s];
    for (const int out : step.writes) {
      if (plan.buffers[out].first != s || root(out) != out) continue;
      if (shared[out]) continue;
      for (const int in : step.reads) {
        const int owner = root(in);
        PlanBuffer& bytes = plan.buffers[owner];
        const bool input = bytes.storage == Storage::argument || bytes.storage == Storage::captured;
        if (bytes.storage == Storage::scratch || (input && (plan.naive || !donated[owner]))) continue;
        if (owned_by_output[owner] || bytes.last != s || !can_alias(step, in, out)) continue;
        mark_in_place(step, in, out);
        shared[owner] = shared[out] = true;
        const int last = plan.buffers[out].last;
        if (plan.buffers[out].storage == Storage::output && !input) {
          // The output owns the bytes: all that shared the operand's bytes now share the output's.
          for (PlanBuffer& buffer : plan.buffers) {
            if (buffer.alias_of == owner) buffer.alias_of = out;
          }
          bytes.alias_of = out;
          plan.buffers[out].first = std::min(plan.buffers[out].first, bytes.first);
          owned_by_output[out] = true;
        } else {
          plan.buffers[out].alias_of = owner;
          bytes.last = std::max(bytes.last, last);
          owned_by_output[owner] = plan.buffers[out].storage == Storage::output;
        }
        break;
      }
    }
  }
}

}  // namespace neap::planner
