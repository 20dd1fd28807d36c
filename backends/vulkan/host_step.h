// What the host computes between two submissions: dense factorizations, which devices have no kernels for, calls of
// functions of the program, and collectives.
//
// Where arrays lie in the host's memory it works on them in place; else it copies the operands there and the result
// back, as the plan says (planner/kernels/factor.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/vulkan/device.h"
#include "core/factor/factor.h"
#include "planner/plan/plan.h"
#include "trace/graph/host_task.h"

namespace neap::vk {

struct HostStep {
  factor::Form form;                      // unless it is a task
  std::optional<tracing::HostTask> task;  // a function of the program, or a collective
  std::vector<int> buffers;     // of the plan: what it reads, the result, and its work space where that is in the plan
  std::vector<uint64_t> bytes;  // of each
  size_t reads = 1;             // with the triangle that Kind::solve reads first
};

/// Returns what the host computes for a step of kind factor or host.
HostStep host_step(const planner::PlanData& plan, const planner::PlanStep& step);

/// Computes the step; the device has finished what came before. `operands` says where its buffers are. `room` has
/// HostWork::held bytes, aligned to 64, and is null where memory is the host's.
void run(const HostStep& step, std::span<const Range> operands, Device& device, std::byte* room);

}  // namespace neap::vk
