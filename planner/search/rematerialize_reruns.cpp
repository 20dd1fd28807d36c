#include "planner/search/rematerialize_reruns.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "planner/kernels/predict.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "trace/graph/effects.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

class Problem {
 public:
  explicit Problem(const PlanData& plan) : plan_(plan), whole_(plan.buffers.size(), false) {
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan.buffers[b];
      if (buffer.alias_of < 0) continue;
      const bool is_part = buffer.alias_offset != 0 || buffer.bytes != plan.buffers[buffer.alias_of].bytes;
      if (is_part) whole_[plan.root(buffer.alias_of)] = true;
    }
  }

  OrderProblem run() {
    problem_.steps = static_cast<int>(plan_.steps.size());
    problem_.values.resize(plan_.buffers.size());
    problem_.scratch.assign(problem_.steps, 0);
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const bool in_arena = plan_.buffers[plan_.root(static_cast<int>(b))].offset >= 0;
      if (in_arena) problem_.values[b].bytes = plan_.buffers[b].bytes;
    }
    for (const int b : plan_.outputs) problem_.values[value(b)].kept = true;
    for (int s = 0; s < problem_.steps; ++s) {
      for (const int b : plan_.steps[s].reads) add(problem_.values[value(b)].readers, s);
      for (const int b : plan_.steps[s].writes) add(problem_.values[value(b)].writers, s);
      for (const int b : plan_.steps[s].scratch) problem_.scratch[s] += plan_.buffers[b].bytes;
      if (calls_host(plan_.steps[s].group)) problem_.once.push_back(s);
    }
    for (int s = 0; s < problem_.steps; ++s) {
      for (const int into : plan_.steps[s].writes) add_reuse(s, into);
    }
    return std::move(problem_);
  }

 private:
  // What is made in parts is one value; what is written over another is two.
  int value(int b) const { return whole_[plan_.root(b)] ? plan_.root(b) : b; }
  static void add(std::vector<int>& list, int s) {
    if (list.empty() || list.back() != s) list.push_back(s);
  }

  void add_reuse(int s, int into) {
    for (const int from : plan_.steps[s].reads) {
      if (value(from) == value(into) || plan_.root(from) != plan_.root(into)) continue;
      if (problem_.values[value(from)].writers.empty()) {  // a donated argument
        for (const int reader : problem_.values[value(from)].readers) {
          if (reader != s) problem_.before.emplace_back(reader, s);
        }
      } else {
        problem_.reuses.push_back({s, value(from), value(into)});
      }
    }
  }

  const PlanData& plan_;
  std::vector<bool> whole_;  // buffers of which others are parts
  OrderProblem problem_;
};

class Writer {
 public:
  explicit Writer(const Planned& planned)
      : graph_(planned.graph),
        plan_(planned.plan),
        stored_(graph_.values.size(), false),
        made_of_(graph_.values.size()),
        made_in_(graph_.values.size(), -1),
        seen_(graph_.values.size(), 0) {
    for (const PlanStep& step : plan_.steps) {
      for (const int b : step.writes) {
        const ValueId v = plan_.buffers[b].value;
        if (v != no_value && graph_.def(v)) stored_[v] = true;
      }
    }
    for (const Node& node : graph_.nodes) copies_ = std::max(copies_, node.attrs.integer_or(Attr::copy, 0));
  }

  Graph run(const Reruns& reruns) {
    renamed_ = copy_inputs(result_, graph_);
    for (size_t i = 0; i < reruns.order.size(); ++i) {
      for (const int b : plan_.steps[reruns.order[i]].writes) {
        const ValueId v = plan_.buffers[b].value;
        if (v == no_value || !stored_[v]) continue;
        emit(v, reruns.again[i], static_cast<int>(i));
      }
    }
    for (const ValueId v : graph_.outputs) {
      emit(v, false, -1);
      result_.outputs.push_back(renamed_[v]);
    }
    return drop_dead_code(std::move(result_));
  }

 private:
  // Writes what is stored, in this run of its step, with what is in registers below it; depth first, without recursion.
  void emit(ValueId target, bool again, int run) {
    ++count_;
    std::vector<std::pair<ValueId, bool>> pending{{target, false}};
    while (!pending.empty()) {
      const auto [v, ready] = pending.back();
      pending.pop_back();
      const bool is_target = v == target && run >= 0;
      if (!graph_.def(v) || (stored_[v] && !is_target && renamed_[v] != no_value)) continue;
      const Node& node = *graph_.def(v);
      if (is_target && made_in_[v] == run) continue;  // with another of the node's results
      if (!ready) {
        if (std::exchange(seen_[v], count_) == count_) continue;
        pending.emplace_back(v, true);
        for (const ValueId x : node.inputs) pending.emplace_back(x, false);
        continue;
      }
      std::vector<ValueId> inputs;
      for (const ValueId x : node.inputs) inputs.push_back(renamed_[x]);
      const bool is_there = !is_target && renamed_[v] != no_value && made_of_[v] == inputs;
      const bool is_shared = op_info(node.op).family == Family::leaf || is_join(node);
      if (is_there && (!again || is_shared || made_in_[v] == run)) continue;
      const bool copy = again || (!is_target && renamed_[v] != no_value);
      made_of_[v] = std::move(inputs);
      Attrs& attrs = result_.nodes[append_renamed(result_, graph_, node, renamed_)].attrs;
      if (copy) attrs.set(Attr::copy, ++copies_);  // copies of one node stay apart from each other too
      for (const ValueId out : node.outputs) made_in_[out] = run;
    }
  }

  const Graph& graph_;
  const PlanData& plan_;
  std::vector<bool> stored_;                   // of values: by a step
  std::vector<std::vector<ValueId>> made_of_;  // of values in registers: the operands of the last copy
  std::vector<int> made_in_;                   // of values: the run of the last copy
  std::vector<ValueId> renamed_;               // to the last copy
  std::vector<int> seen_;                      // of values: the last call of emit() that came by
  int count_ = 0;
  int64_t copies_ = 0;
  Graph result_;
};

}  // namespace

OrderProblem problem_in_order(const PlanData& plan) { return Problem(plan).run(); }

Graph graph_in_order(const Planned& planned, const Reruns& reruns) { return Writer(planned).run(reruns); }

std::optional<Rerun> rerun_within(const Planned& planned, size_t peak_bytes, int64_t& work) {
  const OrderProblem problem = problem_in_order(planned.plan);
  const std::vector<double> seconds = predict_steps(planned.plan, planned.plan.peak_bytes);
  std::vector<int> given(seconds.size());
  std::iota(given.begin(), given.end(), 0);
  const size_t before = peak_of_order(problem, given);
  const size_t less = planned.plan.peak_bytes - std::min(planned.plan.peak_bytes, peak_bytes);
  if (less >= before) return std::nullopt;
  const Reruns reruns = rerun_steps(problem, seconds, before - less, work);
  if (reruns.seconds == 0) return std::nullopt;
  return Rerun{graph_in_order(planned, reruns), reruns.peak_bytes <= before - less};
}

}  // namespace neap::planner
