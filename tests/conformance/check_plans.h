// What must hold for the plan of every program, at any size: nothing is run.
#pragma once

#include "planner/plan/plan.h"
#include "planner/report/check.h"
#include "planner/search/better.h"
#include "planner/search/make_plan.h"
#include "tests/conformance/check_launches.h"
#include "tests/conformance/harness.h"

namespace neap::conformance {

inline planner::PlanData plan_of(const Graph& graph, planner::PlanOptions options = {}) {
  options.want_alternatives = false;
  return planner::make_plan(graph, options);
}

/// All of a plan but the time that it is thought to take.
inline std::string outline(const planner::PlanData& plan) {
  std::string text =
      fmt::format("peak {}, arena {}, {}\n", plan.peak_bytes, plan.arena_bytes, fmt::join(plan.strategies, ", "));
  for (const planner::PlanStep& s : plan.steps) {
    text += fmt::format("{} {}, {}, {} partials, reads {}, writes {}, scratch {}\n", static_cast<int>(s.kind), s.op,
                        name(s.strategy), s.partials, fmt::join(s.reads, " "), fmt::join(s.writes, " "),
                        fmt::join(s.scratch, " "));
    if (s.body) text += "{\n" + outline(*s.body) + "}\n";
  }
  for (const planner::PlanBuffer& b : plan.buffers) text += fmt::format("{} bytes at {}\n", b.bytes, b.offset);
  return text;
}

/// A plan is of the program, the budget and the device; of as many threads as there may be.
inline void check_threads(const Graph& graph, const planner::PlanOptions& options = {}) {
  const auto planned_by = [&](int threads) {
    const Threads some(threads);
    return plan_of(graph, options);
  };
  const planner::PlanData plan = planned_by(1);
  for (const int threads : {2, 8, 64}) {
    const planner::PlanData other = planned_by(threads);
    EXPECT_EQ(other.peak_bytes, plan.peak_bytes) << threads << " threads";
    EXPECT_TRUE(outline(other) == outline(plan)) << threads << " threads, another plan";
    if (testing::Test::HasFailure()) return;
  }
}

/// A plan holds no more than the naive one does, but for what planner/search/better.h allows; and it never is the naive
/// one.
inline void check_no_fallback(const Graph& graph) {
  const planner::PlanData plan = plan_of(graph), naive = plan_of(graph, {.naive = true});
  EXPECT_FALSE(planner::exceeds_naive(planner::price_of(plan), planner::price_of(naive)));
  EXPECT_FALSE(plan.naive) << "the whole plan fell back";
}

inline planner::Target random_target(Random& random) {
  const auto pick = [&](size_t n) { return random() % n; };
  planner::Target target;
  target.gpu = pick(4) != 0;
  if (target.gpu) target.reduce_partials = 1024;
  target.count_tables = target.gpu ? 1 << pick(5) : 1;
  target.wide_atomics = pick(2);
  target.deterministic = pick(4) == 0;
  target.half_products = pick(2);
  target.bf16_products = pick(2);
  target.host_memory = target.carves = pick(2);
  target.alignment = size_t{64} << pick(8);
  if (pick(2)) target.largest_allocation = size_t{1} << (18 + pick(12));
  return target;
}

inline void check_kept(const planner::PlanData& plan, const planner::Target& target) {
  EXPECT_EQ(planner::check_plan(plan), std::vector<std::string>());
  check_launches(plan);
  size_t widest = 0;
  for (const planner::PlanBuffer& b : plan.buffers) {
    if (b.offset < 0 || b.alias_of >= 0) continue;
    widest = std::max(widest, (b.bytes + target.alignment - 1) / target.alignment * target.alignment);
    EXPECT_EQ(static_cast<size_t>(b.offset) % target.alignment, 0u) << b.label;
  }
  if (target.largest_allocation == 0) return;
  if (plan.arena_bytes <= target.largest_allocation) EXPECT_TRUE(plan.arena_blocks.empty());
  for (const size_t block : plan.arena_blocks) EXPECT_LE(block, std::max(target.largest_allocation, widest));
}

/// For a device at random, a plan keeps to the device's limits and to what it says itself; with its own peak as budget,
/// too.
inline void check_limits(const Graph& graph, Random& random) {
  planner::PlanOptions options;
  options.target = random_target(random);
  const planner::PlanData plan = plan_of(graph, options);
  check_kept(plan, options.target);
  options.memory_budget = plan.peak_bytes;
  EXPECT_LE(plan_of(graph, options).peak_bytes, plan.peak_bytes);
}

/// The smallest peak that planning finds.
inline size_t least_peak_of(const Graph& graph) {
  try {
    plan_of(graph, {.memory_budget = 1});
  } catch (const BudgetError& e) {
    return e.smallest_peak_bytes();
  }
  ADD_FAILURE() << "one byte is enough";
  return 0;
}

/// Budgets from the smallest on are met, a smaller one never with a larger peak; one byte less is not.
inline void check_planned_budgets(const Graph& graph) {
  const size_t free = plan_of(graph).peak_bytes, least = least_peak_of(graph);
  if (least == 0) return;  // one byte is enough
  EXPECT_LE(least, free);
  EXPECT_THROW(plan_of(graph, {.memory_budget = least - 1}), BudgetError);
  size_t previous = 0;
  for (const size_t budget : {least, least + (free - least) / 3, free}) {
    const planner::PlanData plan = plan_of(graph, {.memory_budget = budget});
    check_kept(plan, {});
    EXPECT_LE(plan.peak_bytes, budget);
    EXPECT_GE(plan.peak_bytes, previous) << "budget " << budget;
    previous = plan.peak_bytes;
  }
}

inline void check_plans(const Graph& graph, uint64_t seed) {
  Random random(seed);
  check_kept(plan_of(graph), {});
  check_threads(graph);
  check_no_fallback(graph);
  check_limits(graph, random);
}

}  // namespace neap::conformance
