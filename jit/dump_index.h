// What NEAP_DUMP's index tells of the whole program: every plan that was compiled, its calls, what was alive beside
// them. index.json and index.html are written now and then, and when the process ends.
#pragma once

#include <span>
#include <vector>

#include <neap/device.h>
#include "core/buffer.h"
#include "planner/report/index.h"

namespace neap::jit_detail {

/// Adds a plan; its number. Only where dumping is on.
int add_to_index(planner::IndexedPlan plan);

/// A call that begins: what its device holds, and its inputs.
struct BegunCall {
  size_t live = 0, held = 0;
  std::vector<const Buffer*> inputs;
};
BegunCall begin_call(Device device, std::span<const BufferPtr> inputs);
/// Notes that it is over: one of plan `number`.
void note_call(int number, Device device, const BegunCall& begun, std::span<const BufferPtr> results,
               const planner::PlanData& plan);

}  // namespace neap::jit_detail
