#include "planner/search/pins.h"

#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>

#include "planner/pipeline/pipeline.h"
#include "planner/rewrite/subkey.h"
#include "planner/search/budget.h"
#include "planner/search/candidates.h"

namespace neap::planner {

using namespace tracing;

namespace {

bool writes_over(const PlanData& plan, int in, int out) {
  return in != out && plan.root(in) == plan.root(out) && plan.shift(in) == plan.shift(out);
}

bool in_place(const PlanData& plan, const PlanStep& step) {
  return std::ranges::any_of(step.reads, [&](int in) {
    return std::ranges::any_of(step.writes, [&](int out) { return writes_over(plan, in, out); });
  });
}

// What a program must have for the strategy, and what its user can do.
std::pair<std::string, std::string> wanted(Strategy strategy, int64_t chunks) {
  if (strategy == Strategy::inplace) {
    return {"a function in which a result can be written over an operand that nothing reads later",
            "donate an argument, or leave the strategy out"};
  }
  if (strategy == Strategy::nocopy_gather_grad) {
    return {"a function that adds to elements by index what it computes for that alone, as gradients of gathers do",
            "leave the strategy out"};
  }
  if (strategy == Strategy::recompute) {
    return {"a function in which several steps read a value that is computed in registers", "leave the strategy out"};
  }
  if (strategy == Strategy::subkey) {
    return {fmt::format("a function that draws {} random numbers or more with one key", chunks),
            "pin fewer chunks, or leave the strategy out"};
  }
  return {"a function of which a part can run slice by slice", "leave the strategy out"};
}

// The line of the first result.
std::source_location line_of(const Graph& graph) {
  for (const ValueId v : graph.outputs) {
    if (const Node* node = graph.def(v)) return node->loc;
  }
  return {};
}

// The first plan that shows the strategy within the budget: of those that nothing is pinned for, that compute again
// what they can, that store what they can; else the first.
PlanData plan_showing(Strategy strategy, const Program& program, const PlanOptions& options, PlanFreely plan_freely) {
  const auto serves = [&](const PlanData& plan) { return shows(plan, strategy) && fits(plan, options); };
  PlanData usual = plan_freely(program, options);
  if (serves(usual)) return usual;
  for (const FuseOptions& fuse_options : {FuseOptions(), kComputeShared, kStoreShared}) {
    Planned planned = plan_simplified(program.simple(), options, fuse_options);
    if (serves(planned.plan)) return std::move(planned.plan);
  }
  return usual;
}

// The plan with these choices of what is stored, or one that fits its budget.
PlanData plan_fusing(const Graph& simple, const PlanOptions& options, const FuseOptions& fuse_options) {
  Planned planned = plan_simplified(simple, options, fuse_options);
  return fits(planned.plan, options) ? std::move(planned.plan) : meet_budget(simple, planned.plan, options);
}

PlanData plan_chunked(const Graph& simple, const PlanOptions& options) {
  if (options.chunks) return plan_in_chunks(simple, options, *options.chunks);
  PlanData plan = plan_fusing(simple, options, {});
  if (shows(plan, Strategy::chunked)) return plan;
  PlanData chunked = plan_in_chunks(simple, options, kDefaultChunks);
  return fits(chunked, options) ? chunked : plan;
}

}  // namespace

PlanData plan_pinned(const Program& program, const PlanOptions& options, PlanFreely plan_freely) {
  const Strategy strategy = *options.strategy;
  if (strategy == Strategy::inplace || strategy == Strategy::nocopy_gather_grad) {
    return plan_showing(strategy, program, options, plan_freely);
  }
  const int64_t chunks = options.chunks.value_or(kDefaultChunks);
  if (strategy == Strategy::subkey) return plan_fusing(program.with_subkeys(chunks), options, {});
  const Graph& simple = program.simple();
  if (strategy == Strategy::chunked) return plan_chunked(simple, options);
  if (strategy == Strategy::recompute) return plan_fusing(simple, options, kComputeShared);
  FuseOptions drawn_again;  // random numbers are, whatever they cost
  drawn_again.random_weight = kComputeShared.random_weight;
  return plan_simplified(simple, options, drawn_again).plan;  // fits its budget, or cannot
}

bool shows(const PlanData& plan, Strategy strategy) {
  return std::ranges::any_of(plan.steps, [&](const PlanStep& step) {
    return step.strategy == strategy || (strategy == Strategy::inplace && in_place(plan, step)) ||
           // The planner's own loops write their totals in place.
           (step.body && !(strategy == Strategy::inplace && step.strategy == Strategy::chunked) &&
            shows(*step.body, strategy));
  });
}

void check_pin(const PlanData& plan, const Program& program, const PlanOptions& options) {
  if (!options.strategy || *options.strategy == Strategy::naive || *options.strategy == Strategy::fused) return;
  const int64_t chunks = options.chunks.value_or(kDefaultChunks);
  if (*options.strategy == Strategy::subkey ? takes_subkeys(program.graph(), chunks) : shows(plan, *options.strategy))
    return;
  const auto [expected, hint] = wanted(*options.strategy, chunks);
  const std::string got =
      fmt::format("got \"{}\"{}", name(*options.strategy), options.memory_budget ? " and a budget" : "");
  throw_user<OptionError>("strategy", got, expected, hint, line_of(program.graph()));
}

}  // namespace neap::planner
