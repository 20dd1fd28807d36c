// NEAP_DUMP's index tells of the whole program: every plan that was compiled, its calls, and what was alive beside
// them. index.json and index.html are written at most twice a second, and when the process ends.
#pragma once

#include <span>
#include <vector>

#include <neap/device.h>
#include "core/buffer.h"
#include "planner/report/index.h"

namespace neap::jit_detail {

/// Adds a plan and returns its number. It is called only where dumping is on.
int add_to_index(planner::IndexedPlan plan);

/// This describes a call that begins: the bytes that are live on its device, and its inputs, which hold `held` of them.
struct BegunCall {
  size_t live = 0, held = 0;
  std::vector<const Buffer*> inputs;
};
BegunCall begin_call(Device device, std::span<const BufferPtr> inputs);
/// Notes that a call of plan `number` is over.
void note_call(int number, Device device, const BegunCall& begun, std::span<const BufferPtr> results,
               const planner::PlanData& plan);

}  // namespace neap::jit_detail
