// Every backend makes executables: compiled plans that run.
#pragma once

#include <memory>
#include <vector>

#include "core/buffer.h"
#include "planner/plan/plan.h"

namespace neap::backends {

/// Says when one step ran, in seconds since an arbitrary start; for neap::Profile and --trace.
struct StepTiming {
  int step = 0;
  double begin = 0, end = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  virtual const planner::PlanData& plan() const = 0;
  /// Returns false once its device was lost; runs throw DeviceError then.
  virtual bool usable() const { return true; }
  /// Runs the plan. `inputs` has one buffer for each plan input (arguments, captured); those that the plan donates are
  /// consumed (reset). Returns one buffer for each plan output. Allocates exactly what the plan says; where memory is
  /// short it throws, and all inputs are as they were.
  virtual std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs,
                                     std::vector<StepTiming>* timings = nullptr) const = 0;
};

}  // namespace neap::backends
