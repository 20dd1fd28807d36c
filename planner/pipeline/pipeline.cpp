#include "planner/pipeline/pipeline.h"

#include <optional>
#include <utility>

#include "planner/fuse/in_place.h"
#include "planner/fuse/insert_copies.h"
#include "planner/fuse/steps.h"
#include "planner/order/order_graph.h"
#include "planner/plan/limits.h"
#include "planner/rewrite/lower_dot.h"

namespace neap::planner {

using tracing::Graph;

namespace {

// What a plan must be worth, and one that it may be like.
struct Trial {
  const Worth& worth;
  const Planned* like = nullptr;
};

bool may_be_worth(Planned& planned, const OrderGraph& graph, const Trial& trial, const PlanOptions& options) {
  PlanData& plan = planned.plan;
  predict(plan);
  if (!trial.worth(held_beside(plan, options.target) + least_peak(graph), plan.predicted_seconds)) return false;
  return !trial.like || !no_easier(planned.problem, trial.like->problem) ||
         trial.worth(trial.like->plan.peak_bytes, plan.predicted_seconds);
}

// nullopt: not worth it in any order.
std::optional<Planned> plan_steps(Graph simplified, const OrderOptions& order_options, const PlanOptions& options,
                                  const FuseOptions& fuse_options, const Trial* trial = nullptr) {
  const bool is_body = order_options.num_carry >= 0, narrows = options.target.half_products && !options.naive;
  std::vector<bool> overwritable = options.donated;
  if (is_body) {
    overwritable.assign(static_cast<size_t>(order_options.num_consts), false);
    overwritable.resize(overwritable.size() + static_cast<size_t>(order_options.num_carry), true);
  }
  Planned result{
      insert_copies(narrows ? narrow_dots(simplified) : std::move(simplified), is_body, !options.naive, overwritable),
      {},
      {}};
#ifndef NDEBUG
  tracing::verify(result.graph);
#endif
  FuseOptions choices = fuse_options;
  choices.part_steps = options.part_steps;
  const Fusion fusion = options.naive ? fuse_nothing(result.graph) : fuse(result.graph, choices);
  result.parts = fusion.parts;
  const auto plan_inner = [&](const Graph& body, int num_consts, int num_carry) {
    return plan_body(body, num_consts, num_carry, options, fuse_options).plan;
  };
  result.plan = make_steps(result.graph, fusion, options, plan_inner);
  check_countable(result.plan, options.name.empty() ? result.graph.name : options.name);
  if (options.naive) return result;
  result.problem = order_problem(result.plan, order_options);
  const OrderGraph graph(result.problem);
  if (trial && !may_be_worth(result, graph, *trial, options)) return std::nullopt;
  reorder(result.plan, order_steps(graph));
  return result;
}

std::optional<Planned> plan_all(Graph simplified, const PlanOptions& options, const FuseOptions& fuse_options,
                                Placing placing, const Trial* trial = nullptr) {
  const std::string name = options.name.empty() ? simplified.name : options.name;
  std::optional<Planned> result =
      plan_steps(std::move(simplified), {.carves = options.target.carves}, options, fuse_options, trial);
  if (!result) return std::nullopt;
  PlanData& plan = result->plan;
  plan.name = name;
  plan.budget = options.memory_budget;
  alias_in_place(plan);
  account(plan, options.target, trial ? Placing::nowhere : placing, options.placing.get());
  return result;
}

}  // namespace

Planned plan_simplified(const Graph& simplified, const PlanOptions& options, const FuseOptions& fuse_options,
                        Placing placing) {
  return *plan_all(simplified, options, fuse_options, placing);
}

std::optional<Planned> try_plan(Graph simplified, const PlanOptions& options, const Worth& worth, const Planned* like) {
  const Trial trial{worth, like};
  return plan_all(std::move(simplified), options, {}, Placing::nowhere, &trial);
}

Planned plan_body(const Graph& graph, int num_consts, int num_carry, const PlanOptions& options,
                  const FuseOptions& fuse_options) {
  PlanOptions inner = options;
  inner.donated.clear();
  const OrderOptions order_options{.num_carry = num_carry, .num_consts = num_consts};
  Planned body = *plan_steps(graph, order_options, inner, fuse_options);
  body.plan.naive = false;  // its arena is laid out ahead in every pipeline
  alias_carries(body.plan, num_consts, num_carry);
  alias_in_place(body.plan);
  account_body(body.plan, num_carry, options.target, options.placing.get());
  return body;
}

}  // namespace neap::planner
