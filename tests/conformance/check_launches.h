// The kernels of a plan's steps use the scratch that the plan has for them: as many buffers, of the same dtypes, to the
// last element. Nothing is run.
#pragma once

#include <vector>

#include "backends/kernel.h"
#include "planner/plan/plan.h"
#include "tests/conformance/harness.h"

namespace neap::conformance {

/// Elements that a launch writes into one of its kernel's buffers, as far as reductions and scatters do.
inline int64_t accumulated(const backends::Launch& launch, int buffer) {
  const backends::Kernel& kernel = launch.kernel;
  for (const backends::Reduction& r : kernel.reductions) {
    if (r.buffer == buffer) return kernel.finish ? kernel.extent[0] : kernel.extent[0] * launch.partials;
  }
  for (const backends::Scatter& s : kernel.scatters) {
    if (s.buffer == buffer) return s.table_elements * (launch.partials - (launch.part0_operand >= 0 ? 1 : 0));
  }
  return 0;
}

inline void check_launches_of(const planner::PlanData& plan, const planner::PlanStep& step) {
  const std::vector<backends::Launch> launches = backends::lower(step);
  std::vector<int> buffers = step.reads;
  buffers.insert(buffers.end(), step.writes.begin(), step.writes.end());
  const size_t first_scratch = buffers.size();
  buffers.insert(buffers.end(), step.scratch.begin(), step.scratch.end());
  std::vector<int64_t> filled(buffers.size(), 0);
  for (const backends::Launch& launch : launches) {
    ASSERT_EQ(launch.operands.size(), launch.kernel.buffers.size());
    for (size_t i = 0; i < launch.operands.size(); ++i) {
      const auto operand = static_cast<size_t>(launch.operands[i]);
      ASSERT_LT(operand, buffers.size()) << "a kernel has scratch of which the plan does not know";
      if (operand < first_scratch) continue;
      const Aval& planned = plan.buffers[static_cast<size_t>(buffers[operand])].aval;
      EXPECT_EQ(launch.kernel.buffers[i].type, planned.dtype) << "scratch " << operand - first_scratch;
      filled[operand] = std::max(filled[operand], accumulated(launch, static_cast<int>(i)));
    }
  }
  for (size_t operand = first_scratch; operand < buffers.size() && !launches.empty(); ++operand) {
    EXPECT_EQ(filled[operand], plan.buffers[static_cast<size_t>(buffers[operand])].aval.size())
        << "elements of scratch " << operand - first_scratch;
  }
}

/// Checks every step of a plan, and those of its loops' bodies, that becomes kernels of its own.
inline void check_launches(const planner::PlanData& plan) {
  using Kind = planner::PlanStep::Kind;
  for (const planner::PlanStep& step : plan.steps) {
    if (step.body) check_launches(*step.body);
    if (step.kind != Kind::map && step.kind != Kind::reduce && step.kind != Kind::scatter) continue;
    SCOPED_TRACE(step.op + ", " + std::to_string(step.partials) + " partials");
    check_launches_of(plan, step);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace neap::conformance
