// This is the pipeline end to end: graph -> plan -> machine code, and calls of the result with Arrays.
#pragma once

#include <neap/jit.h>

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "backends/executable.h"
#include "backends/object.h"
#include "planner/plan/plan.h"
#include "trace/tracing/tracing.h"

namespace neap::jit_detail {

/// Says what to call a program that has no name of its own (PlanOptions::name), and whether it is an eager operation.
struct Origin {
  std::string label;  // the user's line, or the operation
  bool eager = false;
};

/// This is a graph compiled for a device, with the arrays that it captured.
class Compiled {
 public:
  Compiled(tracing::TracedFunction function, planner::PlanOptions options, const Device& device, Origin origin = {});

  /// Runs on concrete arrays, one for each parameter. Those whose flag is set in PlanOptions::donated are consumed.
  tracing::Arrays run(const tracing::Arrays& arguments, std::source_location loc) const;

  /// Returns the plan with alternatives and the naive pipeline's peak, which are computed on first use.
  Plan report() const;
  const planner::PlanData& plan() const { return executable_->plan(); }
  /// Returns false once the device was lost: the graph must be compiled again.
  bool usable() const { return executable_->usable(); }

 private:
  tracing::TracedFunction function_;
  planner::PlanOptions options_;
  std::shared_ptr<const backends::Executable> executable_;
  Device device_;
  std::string label_;                // the program's name, or what stands for it
  bool calls_host_;                  // whose functions may throw, or other ranks
  int number_ = -1;                  // in the index of NEAP_DUMP; -1: not dumped
  mutable std::once_flag compared_;  // with the programs of other ranks
  mutable std::once_flag reported_;
  mutable Plan report_;
};

/// Returns what a plan for this device is made for. Throws DeviceError where there is no such device.
planner::Target target_of(const Device& device);
/// Returns the bytes that can be had of the device's own memory, which no plan may exceed; 0 means no such limit.
size_t memory_of(const Device& device);
/// Returns the bytes that a plan for the device may hold now, when it is called on these arrays: of its own memory, or
/// of the host's by the limit (memory::limit) and by what the machine has available. nullopt where neither says.
std::optional<size_t> room_on(const Device& device, const tracing::Arrays& arguments, const tracing::Arrays& captured);
/// Compiles the plan by the device's backend. Throws DeviceError or UserError.
std::shared_ptr<const backends::Executable> compile_for(const Device& device, planner::PlanData plan,
                                                        const std::string& dump_name);
/// Compiles ahead by the device's backend (Backend::compile_ahead).
void compile_ahead_for(const Device& device, const planner::PlanData& plan, const std::stop_token& stop);

/// Makes an object file of the plan. Throws UserError where the device's backend makes none.
backends::Object object_for(const Device& device, const planner::PlanData& plan,
                            const backends::ObjectRequest& request);

/// Plans a graph without compiling anything, for Jitted::plan.
Plan make_report(const tracing::Graph& graph, planner::PlanOptions options);

}  // namespace neap::jit_detail
