// What every device backend gives: a compiled plan that runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "planner/plan.h"

namespace neap::backends {

/// Seconds since an arbitrary start, of one executed step; for --trace and the report.
struct StepTiming {
  int step = 0;
  double begin = 0, end = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  virtual const planner::PlanData& plan() const = 0;
  /// Runs the plan. `inputs` has one buffer for each plan input (arguments, captured); those that the plan donates are
  /// consumed (reset). Returns one buffer for each plan output. Allocates exactly what the plan says; where memory is
  /// short it throws, and all inputs are as they were.
  virtual std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs,
                                     std::vector<StepTiming>* timings = nullptr) const = 0;
};

/// Compiles every kernel of the plan for the CPU (backends/cpu). `dump_name`: file name stem for NEAP_DUMP, or empty.
std::shared_ptr<const Executable> compile_cpu(planner::PlanData plan, const std::string& dump_name);

}  // namespace neap::backends
