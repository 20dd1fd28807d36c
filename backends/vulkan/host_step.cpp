#include "backends/vulkan/host_step.h"

#include "core/buffer.h"
#include "core/check.h"
#include "planner/kernels/factor.h"

namespace neap::vk {

HostStep host_step(const planner::PlanData& plan, const planner::PlanStep& step) {
  HostStep made{.form = {}, .task = {}, .buffers = {}, .bytes = {}, .reads = step.reads.size()};
  const tracing::Node& node = step.group.nodes.at(0);
  if (step.kind == planner::PlanStep::Kind::host) {
    made.task.emplace(node, step.group.avals(node.inputs));
  } else {
    made.form = planner::factor_form(step.group, node);
  }
  for (const auto* list : {&step.reads, &step.writes, &step.scratch}) {
    for (const int b : *list) {
      made.buffers.push_back(b);
      made.bytes.push_back(plan.buffers[b].aval.bytes());
    }
  }
  return made;
}

void run(const HostStep& step, std::span<const Range> operands, Device& device, std::byte* room) {
  std::vector<std::byte*> at;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto& [memory, offset, bytes] = operands[i];
    if (!room) {
      NEAP_CHECK(bytes == 0 || memory->mapped(), "an operand that the host does not see, and no room for a copy");
      at.push_back(bytes > 0 ? memory->mapped() + offset : nullptr);
      continue;
    }
    at.push_back(room);
    room += round_up_64(bytes);
    if (i < step.reads && bytes > 0) device.download(*memory, offset, at[i], bytes);
  }
  const bool copied = room != nullptr;
  at.push_back(copied ? room : nullptr);  // work space, unless it is an operand
  const size_t result = step.reads;
  if (step.task) {
    const std::vector<const std::byte*> in(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(result));
    step.task->run(in, at[result]);
  } else {
    factor::run(step.form, step.reads > 1 ? at[0] : nullptr, at[step.reads - 1], at[result], at[result + 1]);
  }
  const Range& to = operands[result];
  if (copied && to.bytes > 0) device.upload(at[result], *to.memory, to.offset, to.bytes);
}

}  // namespace neap::vk
