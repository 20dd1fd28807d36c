#include "planner/search/decisions.h"

#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "planner/pipeline/pipeline.h"
#include "planner/plan/queries.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// The strategy under which a step computes: a body's steps are chunked if the loop is.
void visit(const PlanData& plan, const std::string& outer, const PlanOptions& options, PlanData& result) {
  for (const PlanStep& step : plan.steps) {
    if (step.body) {
      visit(*step.body, step.strategy == Strategy::chunked ? "chunked" : outer, options, result);
      continue;
    }
    for (const Node& node : step.group.nodes) {
      if (node.op != Op::random_bits && node.op != Op::scatter_add) continue;
      Decision decision;
      const char* of = node.op == Op::scatter_add ? "gather gradient, " : "";
      decision.what = fmt::format("{}{} at {}", of, name(node.op), to_string(node.loc));
      const Strategy own = step.strategy == Strategy::inplace ? Strategy::fused : step.strategy;
      decision.chosen = !outer.empty() ? outer : std::string(name(own));
      if (options.strategy == Strategy::subkey && node.op == Op::random_bits) decision.chosen = "subkey";
      decision.reason = options.strategy && name(*options.strategy) == decision.chosen ? "as pinned" : step.reason;
      const bool known =
          std::ranges::any_of(result.decisions, [&](const Decision& d) { return d.what == decision.what; });
      if (!known) result.decisions.push_back(std::move(decision));
    }
  }
}

}  // namespace

void record_choices(PlanData& plan, const PlanOptions& options) {
  const PlanData copy = plan;
  visit(copy, "", options, plan);
}

void add_alternatives(PlanData& plan, const Program& program, const PlanOptions& options) {
  PlanOptions open = options;
  open.memory_budget.reset();
  open.naive = false;
  open.want_alternatives = false;
  const std::map<std::string, FuseOptions> fusions{
      {"fused", {}}, {"keep", kStoreShared}, {"recompute", kComputeShared}};
  std::map<std::string, Alternative> known;
  const auto get = [&](const std::string& name) -> const Alternative& {
    auto it = known.find(name);
    if (it != known.end()) return it->second;
    Alternative result = alternative(name, plan);
    const auto take = [&](const PlanData& other) {
      result.peak_bytes = other.peak_bytes;
      result.cost = other.predicted_seconds;
    };
    const auto fusion = fusions.find(name);
    if (name == "naive" && plan.naive_plan) take(*plan.naive_plan);
    if (fusion != fusions.end()) take(plan_simplified(program.simple(), open, fusion->second).plan);
    return known.emplace(name, result).first->second;
  };
  for (Decision& decision : plan.decisions) {
    const bool shared = decision.chosen == "keep" || decision.chosen == "recompute";
    std::vector<std::string> names =
        shared ? std::vector<std::string>{"keep", "recompute"} : std::vector<std::string>{"fused", "naive"};
    if (!decision.alternatives.empty() && !shared) continue;  // of the budget: they are there
    decision.alternatives.assign(1, alternative(decision.chosen, plan));
    const bool scatter = decision.what.starts_with("gather gradient");
    for (const std::string& name : names) {
      if (name == decision.chosen || (scatter && name == "fused")) continue;
      decision.alternatives.push_back(get(name));
    }
  }
}

}  // namespace neap::planner
