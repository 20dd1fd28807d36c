#include "planner/plan/queries.h"

#include <neap/bytes.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

ValueId view_root(const Graph& graph, ValueId v) {
  while (graph.is(v, Op::reshape)) v = graph.def(v)->inputs[0];
  return v;
}

bool is_zero(const Graph& graph, ValueId v) {
  const Node* node = graph.def(v);
  while (node && (node->op == Op::broadcast_in_dim || node->op == Op::reshape || node->op == Op::convert))
    node = graph.def(node->inputs[0]);
  return node && node->op == Op::constant && node->attrs.real(Attr::value) == 0;
}

size_t count_nodes(const Graph& graph) {
  size_t nodes = graph.nodes.size();
  for (const Node& node : graph.nodes) {
    if (is_loop(node.op)) nodes += count_nodes(*node.attrs.graph(Attr::body));
  }
  return nodes;
}

std::vector<bool> holds_output(const Graph& graph) {
  std::vector<bool> holds(graph.values.size(), false);
  for (const ValueId v : graph.outputs) holds[view_root(graph, v)] = true;
  return holds;
}

void mark_read(const Graph& body, std::span<const ValueId> carry_in, std::span<const ValueId> carry_out,
               std::vector<bool>& read, std::vector<bool>& live) {
  for (size_t j = 0; j < live.size(); ++j) {
    if (live[j]) read[carry_out[j]] = true;
  }
  for (bool changed = true; std::exchange(changed, false);) {
    for (size_t i = body.nodes.size(); i-- > 0;) {
      const Node& node = body.nodes[i];
      if (std::ranges::none_of(node.outputs, [&](ValueId v) { return read[v]; })) continue;
      for (const ValueId v : node.inputs) read[v] = true;
    }
    for (size_t j = 0; j < live.size(); ++j) {
      if (live[j] || !read[carry_in[j]]) continue;
      live[j] = read[carry_out[j]] = changed = true;
    }
  }
}

bool may_trade(const PlanData& body, int output) {
  const PlanBuffer& buffer = body.buffers[output];
  if (buffer.alias_of >= 0 || buffer.offset < 0 || buffer.bytes < kFewestTraded) return false;
  const auto end = [](const PlanBuffer& b) { return b.offset + static_cast<int64_t>(b.bytes); };
  return std::ranges::none_of(body.buffers, [&](const PlanBuffer& other) {
    return &other != &buffer && other.alias_of < 0 && other.offset >= 0 && other.offset < end(buffer) &&
           buffer.offset < end(other);
  });
}

int peak_step(const PlanData& plan) {
  const auto it = std::ranges::max_element(plan.steps, {}, &PlanStep::bytes_live);
  return it == plan.steps.end() ? -1 : static_cast<int>(it - plan.steps.begin());
}

std::vector<int> alive_at(const PlanData& plan, int step) {
  std::vector<int> alive;
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    const bool input = buffer.storage == Storage::argument || buffer.storage == Storage::captured;
    if (buffer.alias_of >= 0 || buffer.bytes == 0) continue;
    if (input || (buffer.first <= step && step <= buffer.last)) alive.push_back(b);
  }
  std::ranges::sort(
      alive, [&](int a, int b) { return std::pair(plan.buffers[b].bytes, a) < std::pair(plan.buffers[a].bytes, b); });
  return alive;
}

std::string shortened(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

std::string describe_alive(const PlanData& plan, const std::string& indent) {
  std::string out;
  for (const int b : alive_at(plan, peak_step(plan))) {
    const PlanBuffer& buffer = plan.buffers[b];
    out += fmt::format("{}{:>10}  {:<12} {:<20} {} {}\n", indent, format_bytes(buffer.bytes), name(buffer.storage),
                       to_string(buffer.aval), shortened(buffer.label, 18), where(buffer));
  }
  return out;
}

size_t host_bytes(const PlanData& plan) {
  size_t most = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.host) most = std::max(most, step.host->held);
    if (step.body) most = std::max(most, host_bytes(*step.body));
  }
  return most;
}

std::string_view name(Storage storage) {
  constexpr std::string_view kNames[] = {"argument", "captured", "output", "intermediate", "scratch"};
  return kNames[static_cast<int>(storage)];
}

}  // namespace neap::planner
