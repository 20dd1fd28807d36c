// The passes, in their order.
#include <algorithm>
#include <set>

#include "core/check.h"
#include "planner/account.h"
#include "planner/alias.h"
#include "planner/fuse.h"
#include "planner/order.h"
#include "planner/plan.h"
#include "planner/scan.h"
#include "planner/simplify.h"
#include "planner/steps.h"

namespace neap::planner {

using trace::Graph;

namespace {

void collect_strategies(const PlanData& plan, std::set<std::string>& names) {
  for (const PlanStep& step : plan.steps) {
    names.insert(step.strategy);
    if (step.body) collect_strategies(*step.body, names);
  }
}

PlanData plan_steps(const Graph& simplified, bool is_body, const PlanOptions& options) {
  const Graph graph = insert_copies(simplified, is_body);
#ifndef NDEBUG
  trace::verify(graph);
#endif
  PlanData plan = make_steps(graph, options.naive ? fuse_nothing(graph) : fuse(graph), options);
  if (!options.naive) order(plan);
  return plan;
}

PlanData plan_graph(const Graph& graph, const PlanOptions& options) {
  const Graph simple = simplify(graph, options.naive ? Builder::Level::light : Builder::Level::full);
  PlanData plan = plan_steps(simple, false, options);
  plan.name = options.name.empty() ? graph.name : options.name;
  alias_in_place(plan);
  account(plan, options.threads_hint);
  plan.budget = options.memory_budget;
  std::set<std::string> names;
  collect_strategies(plan, names);
  plan.strategies.assign(names.begin(), names.end());
  return plan;
}

}  // namespace

std::string_view name(Storage storage) {
  constexpr std::string_view kNames[] = {"argument", "captured", "output", "intermediate", "scratch"};
  return kNames[static_cast<int>(storage)];
}

PlanData plan_body(const Graph& graph, int num_consts, int num_carry, const PlanOptions& options) {
  PlanOptions inner = options;
  inner.donated.clear();
  PlanData body = plan_steps(graph, true, inner);
  body.naive = false;  // its arena is laid out ahead in every pipeline
  alias_carries(body, num_consts, num_carry);
  alias_in_place(body);
  account_body(body, num_carry, options.threads_hint);
  return body;
}

PlanData make_plan(const Graph& graph, const PlanOptions& options) { return plan_graph(graph, options); }

}  // namespace neap::planner
