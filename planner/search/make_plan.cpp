// Many plans, the best of them: the candidates' where nothing is asked for, then what a budget or a pin asks.
#include "planner/search/make_plan.h"

#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/progress.h"
#include "planner/pipeline/memo.h"
#include "planner/plan/limits.h"
#include "planner/plan/queries.h"
#include "planner/rewrite/join_sums.h"
#include "planner/search/budget.h"
#include "planner/search/budget_ledger.h"
#include "planner/search/candidates.h"
#include "planner/search/decisions.h"
#include "planner/search/overlap.h"
#include "planner/search/pins.h"
#include "planner/search/program.h"
#include "planner/search/results_apart.h"
#include "trace/graph/collective.h"

namespace neap::planner {

using tracing::Graph;

namespace {

void collect_strategies(const PlanData& plan, std::set<std::string>& names) {
  for (const PlanStep& step : plan.steps) {
    names.emplace(name(step.strategy));
    if (step.body) collect_strategies(*step.body, names);
  }
}

void check_options(const PlanOptions& options) {
  if (options.chunks && *options.chunks < 1) {
    throw OptionError(fmt::format("chunks: got {}; expected 1 or more", *options.chunks));
  }
  if (options.naive && options.strategy && *options.strategy != Strategy::naive) {
    throw OptionError(
        fmt::format("strategy: got \"{}\"; expected none with the naive pipeline", name(*options.strategy)));
  }
}

// The plan that a program gets without a budget, where no search for less begins with it: the first of the curve.
std::vector<Tradeoff> first_of(const Search& search) {
  if (!search.other) return {};
  const PlanData& plan = *search.other;
  const char* how = plan.decisions.empty() ? "computed again" : plan.decisions.back().chosen.c_str();
  return {{plan.peak_bytes, plan.predicted_seconds, plan.naive ? "naive" : how}};
}

void append(std::vector<Tradeoff>& points, const std::vector<Tradeoff>& more) {
  points.insert(points.end(), more.begin(), more.end());
}

PlanData plan_freely(const Program& program, const PlanOptions& options) {
  Search search = search_candidates(program, options);
  PlanData plan = search.plan();
  if (fits(plan, options)) return plan;
  const double usual_seconds = plan.predicted_seconds;
  const auto take_better = [&](PlanData other) {
    const bool fit = fits(plan, options), other_fits = fits(other, options);
    const bool is_better =
        fit && other_fits ? other.predicted_seconds < plan.predicted_seconds : other.peak_bytes < plan.peak_bytes;
    if (is_better) plan = std::move(other);
  };
  const auto done = [&] { return fits(plan, options) && plan.predicted_seconds <= kAsFast * usual_seconds; };
  std::vector<Tradeoff> points = first_of(search);
  const auto search_all = [&](const auto& meet) {
    const auto search_from = [&](const Graph& simple, const PlanData& usual) {
      PlanData lower = meet(simple, usual, search.options);
      append(points, lower.tradeoff);
      take_better(std::move(lower));
    };
    search_from(search.simple, search.planned.plan);
    for (const Search::Start& other : search.others) {
      if (!done()) search_from(other.simple, other.plan);
    }
  };
  search_all(meet_budget);
  if (!fits(plan, options)) {
    // A search with a budget tries what is near it, and may miss what one without finds. Whatever tradeoff() lists can
    // be had.
    search_all(meet_budget_by_curve);
  }
  if (search.naive && options.naive_too && !fits(plan, options)) take_better(*std::move(search.naive));
  plan.tradeoff = curve_of(std::move(points));
  return plan;
}

// What planning is called while it goes on. Who compiles has said the name.
std::string title_of(const Graph& graph, const PlanOptions& options) {
  const std::string& name = options.name.empty() ? graph.name : options.name;
  const bool named = !name.empty() && !Progress::current();
  return fmt::format("planning{}{} ({} operations)", named ? " " : "", named ? name : "", count_nodes(graph));
}

PlanData plan_chosen(const Program& program, const PlanOptions& options) {
  if (options.naive || options.strategy == Strategy::naive) return plan_naive(program, options);
  return options.strategy ? plan_pinned(program, options, plan_freely) : plan_freely(program, options);
}

// The program with small sums over ranks as one, where ranks wait less for each other then and little more is held.
std::optional<Program> with_joined_sums(const Program& program, const PlanOptions& options) {
  if (options.naive || options.target.gpu || !tracing::has_collectives(program.graph())) return std::nullopt;
  const std::optional<Graph> graph = join_sums(program.graph());
  if (!graph) return std::nullopt;
  Program joined(*graph);
  if (!better(begin_search(joined, options).price(), begin_search(program, options).price())) return std::nullopt;
  return joined;
}

// What budgets would get.
void add_points(const Program& program, const PlanOptions& options, std::vector<Tradeoff>& points) {
  const Search search = search_candidates(program, options);
  PlanData apart = search.plan();
  lay_results_apart(apart, options);
  if (apart.peak_bytes > search.plan().peak_bytes)
    points.push_back({apart.peak_bytes, apart.predicted_seconds, "results apart"});
  append(points, first_of(search));
  append(points, tradeoff_of(search.simple, search.planned.plan, search.options));
  for (const Search::Start& other : search.others) {
    append(points, tradeoff_of(other.simple, other.plan, search.options));
  }
  const auto lowest = std::ranges::min_element(points, {}, &Tradeoff::peak_bytes);
  if (search.naive && options.naive_too && search.naive->peak_bytes < lowest->peak_bytes) {  // where nothing else fits
    points.push_back({search.naive->peak_bytes, search.naive->predicted_seconds, "naive"});
  }
}

PlanData plan_with_sums(const Program& program, const PlanOptions& options) {
  const std::optional<Program> joined = with_joined_sums(program, options);
  if (!joined) return plan_chosen(program, options);
  PlanData plan = plan_chosen(*joined, options);
  if (!fits(plan, options)) return plan_chosen(program, options);
  const char* reason = "small sums over the same ranks are one: ranks wait for each other once";
  plan.decisions.push_back({"sums over ranks", "joined", reason, {alternative("joined", plan)}});
  return plan;
}

}  // namespace

std::vector<Tradeoff> tradeoff(const Graph& graph, const PlanOptions& options) {
  PlanOptions unbounded = options;
  unbounded.memory_budget.reset();
  unbounded.naive = false;
  if (!unbounded.memo) unbounded.memo = std::make_shared<PlanMemo>();
  std::optional<Progress> progress;
  if (progress_on()) progress.emplace(title_of(graph, options), "plan", 0, Progress::Clock::ticks);
  const Program program(graph, options.target);
  std::vector<Tradeoff> points;
  add_points(program, unbounded, points);
  if (const std::optional<Program> joined = with_joined_sums(program, unbounded))
    add_points(*joined, unbounded, points);
  return curve_of(std::move(points));
}

PlanData make_plan(const Graph& graph, const PlanOptions& asked) {
  check_options(asked);
  PlanOptions options = asked;
  if (!options.memo) options.memo = std::make_shared<PlanMemo>();
  std::optional<Progress> progress;
  if (progress_on()) progress.emplace(title_of(graph, options), "plan", 0, Progress::Clock::ticks);
  const Program program(graph, options.target);
  PlanData plan = plan_with_sums(program, options);
  const bool is_too_large = plan.peak_bytes > options.machine_memory.value_or(SIZE_MAX);
  if (is_too_large && plan.budget.value_or(SIZE_MAX) > *options.machine_memory) {
    PlanOptions within = options;
    within.memory_budget = options.machine_memory;
    if (plan.naive)  // there is no other
      plan.budget = within.memory_budget;
    else
      plan = plan_with_sums(program, within);
    plan.budget_of_machine = true;
  }
  overlap_messages(plan, options);
  if (tracing::has_collectives(graph)) drop_ordered(plan);
  lay_results_apart(plan, options);
  if (plan.budget) check_budget(plan);
  check_limits(plan, options.target);
  check_pin(plan, program, options);
  std::set<std::string> names;
  collect_strategies(plan, names);
  if (options.strategy == Strategy::subkey || options.strategy == Strategy::inplace) {
    names.emplace(name(*options.strategy));
  }
  plan.strategies.assign(names.begin(), names.end());
  record_choices(plan, options);
  if (options.want_alternatives) {
    if (!plan.naive) plan.naive_plan = std::make_shared<const PlanData>(plan_naive(program, options));
    plan.naive_peak_bytes = plan.naive ? plan.peak_bytes : plan.naive_plan->peak_bytes;
    add_alternatives(plan, program, options);
  }
  return plan;
}

}  // namespace neap::planner
