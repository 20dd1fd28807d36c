#include "planner/search/rematerialize.h"

#include <algorithm>
#include <array>

#include "planner/kernels/cost.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "trace/graph/effects.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int kUnplaced = -1;

// The step that makes each value, of what is joined from parts the one that makes the last; kUnplaced of inputs and of
// values in registers.
std::vector<int> made_at(const Planned& planned) {
  std::vector<int> step(planned.graph.values.size(), kUnplaced);
  for (const PlanBuffer& buffer : planned.plan.buffers) {
    if (buffer.value != no_value && planned.graph.def(buffer.value)) step[buffer.value] = buffer.first;
  }
  std::vector<int> there = step;  // in registers: when all that it is of is there
  for (const Node& node : planned.graph.nodes) {
    int operands = kUnplaced;
    for (const ValueId x : node.inputs) operands = std::max(operands, there[x]);
    for (const ValueId v : node.outputs) {
      there[v] = std::max(there[v], operands);
      if (node.op == Op::concatenate && step[v] != kUnplaced) step[v] = there[v];
    }
  }
  return step;
}

// Writes the graph anew, each node as it is before the cut (early) and as it is after (late), where that differs.
class Rewriter {
 public:
  Rewriter(const Planned& planned, std::vector<bool> kept)
      : graph_(planned.graph), made_at_(made_at(planned)), cut_(peak_step(planned.plan)), kept_(std::move(kept)) {}

  Graph run() {
    renamed_[kEarly] = renamed_[kLate] = copy_inputs(result_, graph_);
    std::vector<ValueId> order;
    for (size_t v = 0; v < made_at_.size(); ++v) {
      if (made_at_[v] != kUnplaced) order.push_back(static_cast<ValueId>(v));
    }
    std::ranges::sort(order, {}, [&](ValueId v) { return std::pair(made_at_[v], v); });
    for (const ValueId v : order) emit(v, made_at_[v] <= cut_ ? kEarly : kLate);
    for (const ValueId v : graph_.outputs) {
      const Time time = is_late(view_root(graph_, v)) ? kLate : kEarly;
      emit(v, time);
      result_.outputs.push_back(renamed_[time][v]);
    }
    return drop_dead_code(std::move(result_));
  }

 private:
  enum Time { kEarly, kLate };

  bool is_late(ValueId v) const { return made_at_[v] > cut_; }
  // Whether a later reader finds the early value.
  bool stays(ValueId v) const { return (kept_[v] && !is_late(v)) || !graph_.def(v); }

  // Depth first, without recursion: graphs are deep.
  void emit(ValueId target, Time target_time) {
    struct Pending {
      ValueId value;
      Time time;
      bool ready;
    };
    std::vector<Pending> pending{{target, target_time, false}};
    while (!pending.empty()) {
      const auto [v, time, ready] = pending.back();
      pending.pop_back();
      if (renamed_[time][v] != no_value) continue;
      if (time == kLate && stays(v)) {
        if (ready) {
          renamed_[kLate][v] = renamed_[kEarly][v];
        } else {
          pending.push_back({v, kLate, true});
          pending.push_back({v, kEarly, false});
        }
        continue;
      }
      const Node& node = *graph_.def(v);
      if (ready) {
        write(node, time);
        continue;
      }
      pending.push_back({v, time, true});
      for (const ValueId x : node.inputs) {
        if (renamed_[time][x] == no_value) pending.push_back({x, time, false});
      }
    }
  }

  void write(const Node& node, Time time) {
    const ValueId v = node.out();
    const bool copy = time == kLate && !is_late(v) && renamed_[kEarly][v] != no_value;
    if (copy && made_at_[v] == kUnplaced && same_inputs(node)) {  // in registers, of what is there
      for (const ValueId out : node.outputs) renamed_[kLate][out] = renamed_[kEarly][out];
      return;
    }
    Attrs& attrs = result_.nodes[append_renamed(result_, graph_, node, renamed_[time])].attrs;
    if (copy) attrs.set(Attr::copy, attrs.integer_or(Attr::copy, 0) + 1);
    if (time == kEarly && kept_[v] && is_fusible(node.op) && !attrs.has(Attr::marks)) {
      set_mark(attrs, Mark::materialize);
    }
  }

  bool same_inputs(const Node& node) const {
    return std::ranges::all_of(node.inputs, [&](ValueId x) { return renamed_[kEarly][x] == renamed_[kLate][x]; });
  }

  const Graph& graph_;
  std::vector<int> made_at_;
  int cut_;
  std::vector<bool> kept_;
  std::array<std::vector<ValueId>, 2> renamed_;  // at each time
  Graph result_;
};

}  // namespace

std::vector<bool> stored_values(const Planned& planned) {
  std::vector<bool> stored(planned.graph.values.size(), false);
  for (const ValueId v : planned.graph.inputs) stored[v] = true;
  for (const PlanBuffer& buffer : planned.plan.buffers) {
    if (buffer.value != no_value) stored[buffer.value] = true;
  }
  return stored;
}

std::vector<ValueId> live_across_peak(const Planned& planned) {
  const Graph& graph = planned.graph;
  const std::vector<int> step = made_at(planned);
  const int cut = peak_step(planned.plan);
  const std::vector<bool> is_output = holds_output(graph);
  std::vector<bool> seen(graph.values.size(), false);
  std::vector<ValueId> pending, found;
  for (size_t v = 0; v < step.size(); ++v) {
    if (step[v] > cut) pending.push_back(static_cast<ValueId>(v));
  }
  while (!pending.empty()) {  // from what is made late, down to what is stored
    const Node& node = *graph.def(pending.back());
    pending.pop_back();
    for (const ValueId x : node.inputs) {
      if (seen[x] || !graph.def(x) || step[x] > cut) continue;
      seen[x] = true;
      if (step[x] == kUnplaced) {
        pending.push_back(x);
      } else if (!is_output[x]) {
        found.push_back(x);
      }
    }
  }
  std::ranges::sort(found, {}, [&](ValueId v) { return std::pair(step[v], v); });
  return found;
}

std::vector<ValueId> checkpoints(const Planned& planned, std::span<const ValueId> across, size_t segment_bytes) {
  std::vector<ValueId> kept;
  size_t since = 0;
  for (const ValueId v : across) {
    since += planned.graph.aval(v).bytes();
    if (since <= segment_bytes) continue;
    kept.push_back(v);
    since = 0;
  }
  return kept;
}

Frontiers::Frontiers(const Planned& planned) {
  const Graph& graph = planned.graph;
  const int cut = peak_step(planned.plan);
  alive_.assign(std::max(0, cut + 1), 0);
  made_across_.assign(std::max(0, cut + 1), 0);
  // The step after which each value could be there; in registers: when all that it is of is there.
  std::vector<int> time = made_at(planned), last(graph.values.size(), kUnplaced);
  for (const Node& node : graph.nodes) {
    int t = kUnplaced;  // of a loop's results some may have no place
    for (const ValueId v : node.outputs) t = std::max(t, time[v]);
    if (t == kUnplaced) {
      for (const ValueId x : node.inputs) t = std::max(t, time[x]);
    }
    for (const ValueId v : node.outputs) time[v] = t;
    if (t > cut) continue;
    for (const ValueId x : node.inputs) last[x] = std::max(last[x], t);
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const auto v = static_cast<ValueId>(i);
    if (!graph.def(v) || time[v] == kUnplaced || last[v] <= time[v]) continue;
    crossings_.push_back({v, time[v], last[v] - 1});
  }
  std::vector<size_t> ends(alive_.size() + 1, 0);
  for (const Crossing& c : crossings_) {
    alive_[c.first] += graph.aval(c.value).bytes();
    ends[c.last + 1] += graph.aval(c.value).bytes();
  }
  for (size_t t = 1; t < alive_.size(); ++t) alive_[t] += alive_[t - 1] - ends[t];
  for (const ValueId v : live_across_peak(planned)) {
    if (time[v] <= cut) made_across_[time[v]] += graph.aval(v).bytes();  // a carry has its place before its loop
  }
}

std::vector<ValueId> Frontiers::checkpoints(size_t segment_bytes) const {
  std::vector<bool> is_cut(alive_.size(), false);
  for (size_t begin = 0; begin < alive_.size();) {
    size_t since = 0, best = alive_.size(), end = begin;
    for (; end < alive_.size() && since <= segment_bytes; ++end) {
      since += made_across_[end];
      if (since > segment_bytes / 2 && (best == alive_.size() || alive_[end] <= alive_[best])) best = end;
    }
    if (end == alive_.size() || best == alive_.size()) break;
    is_cut[best] = true;
    begin = best + 1;
  }
  std::vector<int> next(alive_.size() + 1, static_cast<int>(alive_.size()));
  for (size_t t = alive_.size(); t-- > 0;) next[t] = is_cut[t] ? static_cast<int>(t) : next[t + 1];
  std::vector<ValueId> kept;
  for (const Crossing& c : crossings_) {
    if (next[c.first] <= c.last) kept.push_back(c.value);
  }
  return kept;
}

Graph rematerialize_from(const Planned& planned, const std::vector<ValueId>& kept) {
  std::vector<bool> keep = holds_output(planned.graph);
  for (const ValueId v : kept) keep[v] = true;
  for (const Node& node : planned.graph.nodes) {
    if (!calls_host(node)) continue;  // once
    for (const ValueId v : node.outputs) keep[v] = true;
  }
  return Rewriter(planned, std::move(keep)).run();
}

}  // namespace neap::planner
