#include "trace/graph/host_task.h"

namespace neap::tracing {
namespace {

std::variant<HostCall, Collective> task_of(const Node& node, std::span<const Aval> operands) {
  if (node.op == Op::host_call) return HostCall(node.attrs, operands);
  return Collective(node, operands);
}

}  // namespace

HostTask::HostTask(const Node& node, std::span<const Aval> operands)
    : task_(task_of(node, operands)), reads_(operands.size()), sends_(sends_messages(node, operands)) {
  const HostCall* call = std::get_if<HostCall>(&task_);
  if (call && call->after) --reads_;
}

bool HostTask::waits() const {
  const Collective* collective = std::get_if<Collective>(&task_);
  return collective && collective->waits();
}

}  // namespace neap::tracing
