#include "planner/fuse/in_place.h"

#include <algorithm>
#include <array>

#include "core/buffer.h"
#include "planner/fuse/step_names.h"
#include "planner/kernels/cost.h"
#include "planner/kernels/partials.h"
#include "planner/kernels/windows.h"
#include "planner/plan/queries.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Whether the node reads its operand `v` at the output's index only.
bool keeps_index(const Node& node, ValueId v) {
  if (node.op == Op::dynamic_update_slice) return v == node.inputs[0] && v != node.inputs[1];
  return reads_same_index(node.op) || node.op == Op::reshape;
}

// How a value is made of an input: of its element at the same index, or of that at the place of a window in it.
enum class Reads : uint8_t { nothing, at_index, in_window };

// Whether the slice takes the window that the step writes apart, from `start` on.
bool is_slice_of(const Graph& group, const Node& slice, const Node& update, const Ints& start) {
  const Ints& stride = slice.attrs.ints(Attr::stride);
  return std::ranges::all_of(stride, [](int64_t n) { return n == 1; }) &&
         group.aval(slice.inputs[0]).shape == group.aval(update.out()).shape &&
         group.aval(slice.out()).shape == group.aval(update.inputs[1]).shape && slice.attrs.ints(Attr::start) == start;
}

// Whether the group reads its input only at the element that it then writes to the output. Other outputs may read that
// element too if the same kernel writes them (lower_map.cpp: those with as many elements), since kernels compute all
// that they store at an index before they store it. A window that is written apart may be made of what it lies over.
bool reads_at_index(const Graph& group, ValueId input, ValueId output) {
  const std::optional<Ints> start = start_written_apart(group, output);
  const Node* const update = start ? group.def(output) : nullptr;
  std::vector<Reads> reads(group.values.size(), Reads::nothing);
  reads[input] = Reads::at_index;
  for (const Node& node : group.nodes) {
    Reads of_operands = Reads::nothing;
    for (const ValueId v : node.inputs) {
      if (reads[v] == Reads::nothing) continue;
      if (&node == update && v == node.inputs[1] && v != node.inputs[0] && v != node.inputs[2] &&
          reads[v] == Reads::in_window) {
        of_operands = Reads::at_index;
        continue;
      }
      Reads now = reads[v];
      if (update && node.op == Op::slice && now == Reads::at_index && is_slice_of(group, node, *update, *start)) {
        now = Reads::in_window;
      } else if (!keeps_index(node, v) || (node.op == Op::dynamic_update_slice && now == Reads::in_window)) {
        return false;
      }
      if (of_operands != Reads::nothing && of_operands != now) return false;
      of_operands = now;
    }
    for (const ValueId v : node.outputs) reads[v] = of_operands;
  }
  const int64_t size = group.aval(output).size();
  return std::ranges::all_of(group.outputs, [&](ValueId v) {
    return reads[v] == Reads::nothing || (reads[v] == Reads::at_index && group.aval(v).size() == size);
  });
}

// Whether a scatter that writes each element once makes each of what its input has there, and of nothing else of it.
bool updates_what_it_reads(const PlanStep& step, ValueId input, const Node& scatter) {
  const Graph& group = step.group;
  const bool sum = scatter.op == Op::scatter_add && group.aval(scatter.out()).dtype != DType::bool_;
  if (!step.covering || !(sum || scatter.op == Op::scatter_set)) return false;
  if (group.aval(input).shape != group.aval(scatter.out()).shape) return false;
  std::vector<bool> of_input(group.values.size(), false);  // made of what the input has at the place of the update
  for (const Node& node : group.nodes) {
    if (std::ranges::find(node.inputs, input) != node.inputs.end()) {
      const bool same_places = node.op == Op::gather && node.inputs[0] == input &&
                               node.inputs[1] == scatter.inputs[1] &&
                               node.attrs.ints(Attr::axes) == scatter.attrs.ints(Attr::axes);
      if (!same_places) return false;
      of_input[node.out()] = true;
    } else if (std::ranges::any_of(node.inputs, [&](ValueId v) { return of_input[v]; })) {
      if (&node == &scatter) return !of_input[scatter.inputs[0]] && !of_input[scatter.inputs[1]];
      if (!reads_same_index(node.op)) return false;
      of_input[node.out()] = true;
    }
  }
  return false;
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
    const ValueId input = step.group.inputs[index_of(step.reads, in)];
    const Node& node = *step.group.def(output);
    if (!same_elements(step.group.aval(input), step.group.aval(output))) return false;
    if (updates_what_it_reads(step, input, node)) return true;
    // As the operand, whole and unchanged, and for nothing else.
    return node.inputs[0] == input && count_uses(step.group)[input] == 1;
  }
  if (step.kind == PlanStep::Kind::factor) {
    // Cholesky's matrix, what its derivatives are linear in, or the right-hand sides, if nothing else is read there.
    constexpr std::array kInPlace{Op::cholesky, Op::cholesky_tangent, Op::cholesky_cotangent, Op::triangular_solve};
    if (std::ranges::find(kInPlace, step.group.def(output)->op) == kInPlace.end()) return false;
    return std::ranges::count(step.reads, in) == 1 && step.reads.back() == in;
  }
  if (step.kind == PlanStep::Kind::cumulative) return true;
  if (step.kind == PlanStep::Kind::fourier) return step.group.nodes[0].op == Op::fft_pairs;
  if (step.kind == PlanStep::Kind::dot || step.kind == PlanStep::Kind::convolution) {  // what it adds to, and no factor
    const ValueId input = step.group.inputs[index_of(step.reads, in)];
    const std::vector<ValueId>& operands = step.group.nodes[0].inputs;
    return operands.size() == 3 && operands[2] == input && operands[0] != input && operands[1] != input &&
           std::ranges::count(step.reads, in) == 1;
  }
  if (step.kind == PlanStep::Kind::reduce) {  // what it begins with: each row reads its own
    const ValueId input = step.group.inputs[index_of(step.reads, in)];
    const std::vector<ValueId>& operands = step.group.def(output)->inputs;
    return operands.size() == 2 && view_root(step.group, operands[1]) == input && count_uses(step.group)[input] == 1 &&
           std::ranges::count(step.reads, in) == 1;
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

void mark_in_place(PlanData& plan, int s, int in) {
  PlanStep& step = plan.steps[s];
  if (std::ranges::find(step.reads, in) == step.reads.end()) return;
  const bool scatters = step.kind == PlanStep::Kind::scatter;
  const bool into_operand =
      scatters && step.group.inputs[index_of(step.reads, in)] == step.group.def(step.group.outputs[0])->inputs[0];
  if (step.kind != PlanStep::Kind::scan && (!scatters || into_operand)) name_in_place(step);
  if (!into_operand) return;
  step.operand_in_place = true;
  // The output holds the operand now: counts that would have lain there need a table of their own.
  const std::vector<Aval> scratch = scratch_of(step);
  for (size_t i = 0; i < scratch.size(); ++i) {
    if (i == step.scratch.size()) {
      step.scratch.push_back(static_cast<int>(plan.buffers.size()));
      PlanBuffer buffer;
      buffer.storage = Storage::scratch;
      buffer.first = buffer.last = s;
      buffer.label = scratch_label(step);
      buffer.source = step.source;
      plan.buffers.push_back(std::move(buffer));
    }
    PlanBuffer& buffer = plan.buffers[step.scratch[i]];
    buffer.aval = scratch[i];
    buffer.bytes = round_up_64(scratch[i].bytes());
  }
}

void alias_in_place(PlanData& plan) {
  std::vector<bool> donated(plan.buffers.size(), false), owned_by_output(plan.buffers.size(), false);
  for (size_t i = 0; i < plan.inputs.size(); ++i) donated[plan.inputs[i]] = plan.donated[i];
  for (const int b : plan.outputs) owned_by_output[plan.root(b)] = true;
  std::vector<std::vector<int>> sharers(plan.buffers.size());  // what else lies in the bytes of each
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].alias_of >= 0) sharers[plan.buffers[b].alias_of].push_back(static_cast<int>(b));
  }

  const auto in_input = [&](int b) {
    const Storage storage = plan.buffers[plan.root(b)].storage;
    return storage == Storage::argument || storage == Storage::captured;
  };
  const auto try_alias = [&](int s, int in, int out) {
    const int owner = plan.root(in);
    const PlanBuffer& bytes = plan.buffers[owner];
    const bool input = in_input(in);
    if (bytes.storage == Storage::scratch || (input && (plan.naive || !donated[owner]))) return false;
    if (owned_by_output[owner] || bytes.last != s || !can_alias(plan.steps[s], in, out)) return false;
    // Not where this step has put another result already.
    if (std::ranges::any_of(sharers[owner], [&](int b) { return plan.buffers[b].first == s; })) return false;
    mark_in_place(plan, s, in);
    const bool output = plan.buffers[out].storage == Storage::output;
    // An output owns the bytes: all that shared the operand's bytes then share the output's.
    const int to = output && !input ? out : owner, from = to == out ? owner : out;
    for (const int b : sharers[from]) plan.buffers[b].alias_of = to;
    sharers[to].insert(sharers[to].end(), sharers[from].begin(), sharers[from].end());
    sharers[to].push_back(from);
    sharers[from].clear();
    plan.buffers[from].alias_of = to;
    plan.buffers[to].first = std::min(plan.buffers[to].first, plan.buffers[from].first);
    plan.buffers[to].last = std::max(plan.buffers[to].last, plan.buffers[from].last);
    owned_by_output[to] = output;
    return true;
  };
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const std::vector<int> writes = plan.steps[s].writes, reads = plan.steps[s].reads;
    for (const int out : writes) {
      if (plan.buffers[out].first != s || plan.root(out) != out || !sharers[out].empty()) continue;
      const auto take = [&](bool input) {
        return std::ranges::any_of(reads, [&](int in) { return in_input(in) == input && try_alias(s, in, out); });
      };
      if (!take(true)) take(false);
    }
  }
}

namespace {

// A value on the way from a carry's old value to its new one, which each step of the way writes over what it reads of
// it, lies there too: from `out`, which does already, back to what no longer can.
void alias_on_the_way(PlanData& body, int in, int out) {
  const auto joined = [&](int b) {
    return std::ranges::any_of(body.buffers, [&](const PlanBuffer& other) { return other.alias_of == b; });
  };
  for (bool more = true; more;) {
    more = false;
    const int write = body.buffers[out].first;
    const std::vector<int> reads = body.steps[write].reads;
    for (const int b : reads) {
      PlanBuffer& buffer = body.buffers[b];
      if (b == in || buffer.storage != Storage::intermediate || buffer.alias_of >= 0 || buffer.last != write) continue;
      if (joined(b) || buffer.aval.bytes() != body.buffers[out].aval.bytes()) continue;
      bool safe = can_alias(body.steps[write], b, out);
      for (int s = 0; safe && s < static_cast<int>(body.steps.size()); ++s) {
        const bool reads_old = std::ranges::find(body.steps[s].reads, in) != body.steps[s].reads.end();
        if (reads_old && (s > buffer.first || (s == buffer.first && !can_alias(body.steps[s], in, b)))) safe = false;
      }
      if (!safe) continue;
      buffer.alias_of = in;
      mark_in_place(body, write, b);
      mark_in_place(body, body.buffers[b].first, in);
      out = b;
      more = true;
      break;
    }
  }
}

}  // namespace

void alias_carries(PlanData& body, int num_consts, int num_carry) {
  for (int j = 0; j < num_carry; ++j) {
    const int in = body.inputs[num_consts + j];
    const int out = body.outputs[j];
    const int write = body.buffers[out].first;
    const bool joined = std::ranges::any_of(body.buffers, [&](const PlanBuffer& b) { return b.alias_of == out; });
    bool safe = !joined && body.buffers[in].aval.bytes() == body.buffers[out].aval.bytes();
    for (int s = 0; safe && s < static_cast<int>(body.steps.size()); ++s) {
      const PlanStep& step = body.steps[s];
      const bool reads = std::ranges::find(step.reads, in) != step.reads.end();
      if (reads && (s > write || (s == write && !can_alias(step, in, out)))) safe = false;
    }
    if (!safe) continue;
    body.buffers[out].alias_of = in;
    body.buffers[in].last = body.buffers[out].last;
    mark_in_place(body, write, in);
    alias_on_the_way(body, in, out);
  }
}

}  // namespace neap::planner
