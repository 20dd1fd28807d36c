// Every backend makes executables: compiled plans that run.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "core/buffer.h"
#include "planner/plan/plan.h"

namespace neap::backends {

/// Returns the seconds since an arbitrary start, the same for all that is timed.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Says when one step ran, by steady_seconds(); for neap::Profile, NEAP_PROFILE and --trace.
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
