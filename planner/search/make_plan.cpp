// The passes, in their order.
#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "planner/kernels/naive_bound.h"
#include "planner/pipeline/pipeline.h"
#include "planner/plan/limits.h"
#include "planner/plan/plan.h"
#include "planner/plan/queries.h"
#include "planner/rewrite/builder.h"
#include "planner/rewrite/complex.h"
#include "planner/rewrite/simplify.h"
#include "planner/rewrite/subkey.h"
#include "planner/search/better.h"
#include "planner/search/budget.h"
#include "planner/search/candidates.h"
#include "planner/search/decisions.h"
#include "planner/search/free_slices.h"
#include "planner/search/make_plan.h"
#include "planner/search/pins.h"
#include "planner/search/rematerialize_cheap.h"
#include "planner/search/separate.h"

namespace neap::planner {

using tracing::Graph;

namespace {

void collect_strategies(const PlanData& plan, std::set<std::string>& names) {
  for (const PlanStep& step : plan.steps) {
    names.emplace(name(step.strategy));
    if (step.body) collect_strategies(*step.body, names);
  }
}

// As the naive pipeline does.
Graph simplify_lightly(const Graph& graph) { return simplify(graph, Builder::Level::light); }

PlanData plan_naive(const Graph& light, PlanOptions options) {
  options.naive = true;
  return plan_simplified(light, options, {}).plan;
}

void check_strategy(const PlanOptions& options) {
  if (options.chunks && *options.chunks < 1) {
    throw OptionError(fmt::format("chunks: got {}; expected 1 or more", *options.chunks));
  }
  if (options.naive && options.strategy && *options.strategy != Strategy::naive) {
    throw OptionError(
        fmt::format("strategy: got \"{}\"; expected none with the naive pipeline", name(*options.strategy)));
  }
}

// The curve from the plan that a program gets without a budget on.
std::vector<Tradeoff> below(const PlanData& usual, const std::vector<Tradeoff>& curve, const std::string& strategy) {
  std::vector<Tradeoff> result{{usual.peak_bytes, usual.predicted_seconds, strategy}};
  for (const Tradeoff& point : curve) {
    if (point.peak_bytes < usual.peak_bytes) result.push_back(point);
  }
  return result;
}

// What has several readers is stored, not computed by each from what must wait in its place: less waits in some small
// programs.
Planned plan_storing(const Graph& simplified, const PlanOptions& options) {
  const Planned storing = plan_simplified(simplified, options, {.keep_weight = 0, .random_weight = 0});
  Rematerializer rematerializer(storing, options);
  rematerializer.rematerialize_cheap();
  return rematerializer.take();
}

// What is planned before a budget is looked at.
struct Unbudgeted {
  PlanOptions options;  // with what was chosen
  Graph simple;
  Planned planned;                // where a search for less begins
  std::optional<PlanData> other;  // better: in slices, or naive
  std::optional<PlanData> naive;  // where the plan might hold more

  const PlanData& plan() const { return other ? *other : planned.plan; }
};

// A choice between whole plans, as they came out.
void record(PlanData& plan, const std::string& chosen, std::string reason, std::vector<Alternative> alternatives) {
  plan.decisions.push_back({"steps", chosen, std::move(reason), std::move(alternatives)});
}

// All that makes the plan of a simplified graph smaller in about the same time.
Unbudgeted make_smaller(const Graph& graph, Graph simple, const Planned& plain, const PlanOptions& options) {
  std::optional<Planned> moved = plan_in_better_layout(graph, simple, plain, options);
  Rematerializer rematerializer(moved ? *moved : plain, options);
  std::optional<PlanData> sliced = slice_for_free(plain, rematerializer.rematerialize_cheap(), options);
  if (!sliced) rematerializer.rematerialize_products();
  Planned planned = rematerializer.take();
  if (planned.plan.peak_bytes > planned.plan.lower_bound_bytes) settle(planned.plan, options);
  return {options, std::move(simple), std::move(planned), std::move(sliced), std::nullopt};
}

// With steps merged for what they share, or for what they share once it is known what is stored.
Unbudgeted plan_fused(const Graph& graph, const PlanOptions& options) {
  auto [simple, plain] = compact_where_better(simplify(graph), options);
  Unbudgeted usual = make_smaller(graph, simple, plain, options);
  if (!plain.parts) return usual;
  PlanOptions parting = options;
  parting.part_steps = true;
  Unbudgeted parted = make_smaller(graph, simple, plan_simplified(simple, parting, {}, Placing::near), parting);
  const Target& target = options.target;
  if (!better(price_of(parted.plan(), target), price_of(usual.plan(), target))) return usual;
  record(parted.other ? *parted.other : parted.planned.plan, "parted",
         "what merged steps were to share is stored: each alone keeps less alive",
         {alternative("merged", usual.plan()), alternative("parted", parted.plan())});
  return parted;
}

Unbudgeted plan_unbudgeted(const Graph& graph, const PlanOptions& options) {
  Unbudgeted result = plan_fused(graph, options);
  const Target& target = options.target;
  const Graph light = simplify_lightly(graph);
  if (price_of(result.plan(), target).peak_bytes <= naive_peak_at_least(light, target)) return result;
  result.naive = plan_naive(light, options);
  const Price naive = price_of(*result.naive);
  const auto exceeds = [&] { return exceeds_naive(price_of(result.plan(), target), naive); };
  if (price_of(result.plan(), target).peak_bytes <= naive.peak_bytes) return result;
  Planned storing = plan_storing(result.simple, result.options);
  const bool lower = storing.plan.peak_bytes < result.plan().peak_bytes;
  std::optional<Planned> replaced;
  if (lower && (exceeds() || better(price_of(storing.plan, target), price_of(result.plan(), target)))) {
    record(storing.plan, "stored", "what has several readers is stored, as less waits then",
           {alternative("fused", result.plan()), alternative("stored", storing.plan)});
    replaced = std::exchange(result.planned, std::move(storing));
    result.other.reset();
  }
  if (!exceeds()) return result;
  const Planned& fused = replaced ? *replaced : result.planned;
  std::optional<Planned> separated = separate_peaks(fused, naive, result.options);
  if (separated && !better(naive, price_of(separated->plan, target))) {
    record(separated->plan, "separated",
           "the steps that would hold the most store what they compute on the way, or are not merged: less waits then",
           {alternative("fused", fused.plan), alternative("separated", separated->plan),
            alternative("naive", *result.naive)});
    result.planned = *std::move(separated);
    result.other.reset();
  }
  if (exceeds()) result.other = result.naive;
  return result;
}

PlanData plan_freely(const Graph& graph, const PlanOptions& given) {
  auto [options, simple, planned, other, naive] = plan_unbudgeted(graph, given);
  PlanData plan = other ? *other : planned.plan;
  const auto take = [&](PlanData lower) {
    if (lower.peak_bytes < plan.peak_bytes) plan = std::move(lower);
  };
  const auto fits = [&] { return !given.memory_budget || plan.peak_bytes <= *given.memory_budget; };
  if (fits()) return plan;
  PlanData lower = meet_budget(simple, planned.plan, options);
  if (other) lower.tradeoff = below(*other, lower.tradeoff, other->naive ? "naive" : "chunked");
  take(std::move(lower));
  if (naive && !fits()) take(*std::move(naive));
  return plan;
}

// The first plan that shows the strategy within the budget: of those that nothing is pinned for, that compute again
// what they can, that store what they can; else the first.
PlanData plan_showing(Strategy strategy, const Graph& graph, const PlanOptions& options) {
  const auto serves = [&](const PlanData& plan) {
    return shows(plan, strategy) && (!options.memory_budget || plan.peak_bytes <= *options.memory_budget);
  };
  PlanData usual = plan_freely(graph, options);
  if (serves(usual)) return usual;
  const Graph simple = simplify(graph);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const FuseOptions again{.keep_weight = kNever, .random_weight = kNever}, stored{.keep_weight = 0, .random_weight = 0};
  for (const FuseOptions& fuse_options : {FuseOptions(), again, stored}) {
    Planned planned = plan_simplified(simple, options, fuse_options);
    if (serves(planned.plan)) return std::move(planned.plan);
  }
  return usual;
}

PlanData plan_chosen(const Graph& graph, const PlanOptions& options) {
  check_strategy(options);
  if (!options.naive && !options.strategy) return plan_freely(graph, options);
  const Strategy pinned = options.naive ? Strategy::naive : *options.strategy;
  if (pinned == Strategy::naive) return plan_naive(simplify_lightly(graph), options);
  if (pinned == Strategy::inplace || pinned == Strategy::nocopy_gather_grad)
    return plan_showing(pinned, graph, options);
  const int64_t chunks = std::max<int64_t>(1, options.chunks.value_or(kDefaultChunks));
  const Graph simple = simplify(pinned == Strategy::subkey ? use_subkeys(graph, chunks) : graph);
  if (pinned == Strategy::chunked && options.chunks) return plan_in_chunks(simple, options, chunks);
  FuseOptions fuse_options;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (pinned == Strategy::fused || pinned == Strategy::recompute) fuse_options.random_weight = kNever;
  if (pinned == Strategy::recompute) fuse_options.keep_weight = kNever;
  Planned planned = plan_simplified(simple, options, fuse_options);
  if (pinned == Strategy::fused) return std::move(planned.plan);  // fits its budget, or cannot
  const bool fits = !options.memory_budget || planned.plan.peak_bytes <= *options.memory_budget;
  PlanData plan = fits ? std::move(planned.plan) : meet_budget(simple, planned.plan, options);
  if (pinned == Strategy::chunked && !shows(plan, Strategy::chunked)) {
    PlanData chunked = plan_in_chunks(simple, options, chunks);
    if (!options.memory_budget || chunked.peak_bytes <= *options.memory_budget) return chunked;
  }
  return plan;
}

}  // namespace

std::string_view name(Storage storage) {
  constexpr std::string_view kNames[] = {"argument", "captured", "output", "intermediate", "scratch"};
  return kNames[static_cast<int>(storage)];
}

std::vector<Tradeoff> tradeoff(const Graph& graph, const PlanOptions& options) {
  if (has_complex(graph)) return tradeoff(lower_complex(graph), options);
  PlanOptions unbounded = options;
  unbounded.memory_budget.reset();
  unbounded.naive = false;
  auto [chosen, simple, planned, other, naive] = plan_unbudgeted(graph, unbounded);
  std::vector<Tradeoff> curve = tradeoff_of(simple, planned.plan, chosen);
  return other ? below(*other, curve, other->naive ? "naive" : "chunked") : curve;
}

PlanData make_plan(const Graph& graph, const PlanOptions& options) {
  if (has_complex(graph)) return make_plan(lower_complex(graph), options);
  PlanData plan = plan_chosen(graph, options);
  if (options.memory_budget) check_budget(plan);
  check_limits(plan, options.target);
  check_pin(plan, graph, options);
  std::set<std::string> names;
  collect_strategies(plan, names);
  if (options.strategy == Strategy::subkey || options.strategy == Strategy::inplace) {
    names.emplace(name(*options.strategy));
  }
  plan.strategies.assign(names.begin(), names.end());
  record_choices(plan, options);
  if (options.want_alternatives) {
    if (!plan.naive) plan.naive_plan = std::make_shared<const PlanData>(plan_naive(simplify_lightly(graph), options));
    plan.naive_peak_bytes = plan.naive ? plan.peak_bytes : plan.naive_plan->peak_bytes;
    add_alternatives(plan, graph, options);
  }
  return plan;
}

}  // namespace neap::planner
