// This makes the ordering problem of a plan.
#include <algorithm>

#include "planner/fuse/in_place.h"
#include "planner/fuse/steps.h"
#include "planner/order/order.h"

namespace neap::planner {

namespace {

// Which values lie in which bytes while the given order runs: donated arguments and carries that outputs take over.
class Problem {
 public:
  Problem(const PlanData& plan, const OrderOptions& options)
      : plan_(plan), options_(options), held_(plan.buffers.size()), donated_(held_), shared_(held_) {
    problem_.steps = static_cast<int>(plan.steps.size());
    problem_.values.resize(plan.buffers.size());
    problem_.scratch.assign(problem_.steps, 0);
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Storage storage = plan.buffers[b].storage;
      if (storage == Storage::intermediate || storage == Storage::output) {
        problem_.values[b].bytes = plan.buffers[b].bytes;
      }
    }
    for (const int b : plan.outputs) problem_.values[whole(b)].kept = true;
    for (int s = 0; s < problem_.steps; ++s) {
      for (const int b : plan.steps[s].reads) add(problem_.values[whole(b)].readers, s);
      // What has begun is written then: its end only looks on (planner/search/overlap.cpp says what comes after).
      const bool ends = plan.steps[s].phase == PlanStep::Phase::end;
      for (const int b : plan.steps[s].writes) {
        OrderProblem::Value& value = problem_.values[whole(b)];
        add(ends ? value.readers : value.writers, s);
      }
      for (const int b : plan.steps[s].scratch) problem_.scratch[s] += plan.buffers[b].bytes;
    }
  }

  OrderProblem run() {
    for (size_t i = 0; i < plan_.inputs.size(); ++i) donated_[plan_.inputs[i]] = plan_.donated[i];
    for (const PlanBuffer& buffer : plan_.buffers) {
      if (buffer.alias_of >= 0) shared_[buffer.alias_of] = true;
    }
    place_outputs();
    find_donated();
    find_held();
    find_reuses();
    return std::move(problem_);
  }

 private:
  int whole(int b) const { return plan_.root(b); }
  static void add(std::vector<int>& list, int s) {
    if (list.empty() || list.back() != s) list.push_back(s);
  }

  // Outputs that are held all the time have no part in it; a carry that can be written in place must stay so.
  void place_outputs() {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      const int out = plan_.outputs[i];
      OrderProblem::Value& value = problem_.values[out];
      if (static_cast<int>(i) >= options_.num_carry) {
        if (!options_.carves || options_.num_carry >= 0) {
          held_[out] = true;
          value.bytes = 0;
        }
        continue;
      }
      const int in = plan_.inputs[options_.num_consts + static_cast<int>(i)];
      if (value.writers.size() == 1 && hold(in, out, value.writers[0])) value.bytes = 0;
    }
  }

  // Whether step `s` can write `out` over `in`, which no step after it reads; then it stays so.
  bool hold(int in, int out, int s) {
    const std::vector<int>& readers = problem_.values[in].readers;
    if (plan_.buffers[in].aval.bytes() != plan_.buffers[out].aval.bytes()) return false;
    if (!readers.empty() && readers.back() >= s && (readers.back() > s || !can_alias(plan_.steps[s], in, out))) {
      return false;
    }
    for (const int reader : problem_.values[in].readers) problem_.before.emplace_back(reader, s);
    return true;
  }

  // Whether the value is one that a step may write over: not an output, nor part of a larger one.
  bool is_free(int b) const {
    const OrderProblem::Value& value = problem_.values[b];
    return !value.kept && !shared_[b] && plan_.buffers[b].alias_of < 0 && !value.writers.empty();
  }

  bool begins(int b, int s) const {
    const std::vector<int>& writers = problem_.values[b].writers;
    return !writers.empty() && writers[0] == s && !shared_[b];
  }

  // Donated arguments are taken first (alias_in_place): by outputs, and by others that pass them on.
  void find_donated() {
    for (int s = 0; s < problem_.steps; ++s) {
      for (const int out : plan_.steps[s].writes) {
        if (!begins(out, s)) continue;
        for (const int in : plan_.steps[s].reads) {
          if (!donated_[in] || !hold(in, out, s)) continue;
          donated_[in] = held_[out] = false;
          donated_[out] = !problem_.values[out].kept;
          problem_.values[out].bytes = 0;
          break;
        }
      }
    }
  }

  // What an output is written over lies in the output's bytes; if those are held all the time, it costs nothing.
  void find_held() {
    for (int s = problem_.steps; s-- > 0;) {
      for (const int out : plan_.steps[s].writes) {
        if (!held_[out] || !begins(out, s)) continue;
        for (const int in : plan_.steps[s].reads) {
          if (!is_free(in) || held_[in] || !hold(in, out, s)) continue;
          held_[in] = true;
          problem_.values[in].bytes = 0;
          break;
        }
      }
    }
  }

  void find_reuses() {
    for (int s = 0; s < problem_.steps; ++s) {
      const PlanStep& step = plan_.steps[s];
      for (const int out : step.writes) {
        const OrderProblem::Value& value = problem_.values[out];
        if (value.bytes == 0 || !begins(out, s)) continue;
        for (const int in : step.reads) {
          const bool fits = is_free(in) && problem_.values[in].bytes == value.bytes;
          if (fits && can_alias(step, in, out)) problem_.reuses.push_back({s, in, out});
        }
      }
    }
  }

  const PlanData& plan_;
  const OrderOptions& options_;
  std::vector<bool> held_;     // of each buffer: its bytes are there all the time
  std::vector<bool> donated_;  // those of an argument that may be written over
  std::vector<bool> shared_;   // others lie in it
  OrderProblem problem_;
};

}  // namespace

OrderProblem order_problem(const PlanData& plan, const OrderOptions& options) { return Problem(plan, options).run(); }

void reorder(PlanData& plan, const std::vector<int>& order) {
  std::vector<PlanStep> steps;
  steps.reserve(order.size());
  for (const int s : order) steps.push_back(std::move(plan.steps[s]));
  plan.steps = std::move(steps);
  set_live_ranges(plan);
}

}  // namespace neap::planner
