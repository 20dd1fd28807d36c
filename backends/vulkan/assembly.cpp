#include "backends/vulkan/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/ascii.h"

namespace neap::vk {

Assembly::Assembly(Device& device, const std::string& dump_name, bool views)
    : device_(device), dump_name_(dump_name), views_(views && device.choices().texels > 0) {}

void Assembly::dispatch(Scope& scope, std::vector<Command>& list, const Shader& shader, const std::string& name,
                        const Access& access, uint32_t number) {
  if (scope.hazards.needs_barrier(access.reads, access.writes)) {
    barrier(scope, list);
    scope.hazards.needs_barrier(access.reads, access.writes);
  }
  Command command = add_kernel({shader, name, {}, nullptr});
  command.first = addresses_.operands(scope, access.operands);
  for (const View& view : shader.views) {
    const int b = access.operands[static_cast<size_t>(view.operand)], root = scope.root(b);
    command.views.push_back({view, root, scope.shift(b), scope.bytes(b)});
    if (std::ranges::find(program_.viewed, root) == program_.viewed.end()) program_.viewed.push_back(root);
  }
  for (uint32_t i = 0; i < shader.dispatches; ++i) {
    if (i > 0) list.push_back({});
    command.count = number + i;
    list.push_back(command);
  }
}

void Assembly::dispatch(Scope& scope, std::vector<Command>& list, Emit emit, const std::string& name,
                        const Access& access) {
  dispatch(scope, list, emit(choices()), name, access);
  kernels_.back().emit = std::move(emit);
}

void Assembly::copy(Scope& scope, std::vector<Command>& list, int from, int to, uint64_t bytes) {
  if (bytes == 0) return;
  const auto emit = [bytes](const Choices& choices) { return copy_shader(bytes, choices); };
  dispatch(scope, list, emit, "copy", {{from, to}, {from}, {to}});
}

void Assembly::barrier(Scope& scope, std::vector<Command>& list) {
  if (list.empty() || list.back().kind != Command::Kind::barrier) list.push_back({});
  scope.hazards.clear();
}

Command Assembly::add_kernel(Kernel kernel) {
  Command command;
  command.kind = Command::Kind::dispatch;
  command.kernel = static_cast<int>(kernels_.size());
  command.groups = kernel.shader.groups;
  kernels_.push_back(std::move(kernel));
  return command;
}

int Assembly::add_host_step(HostStep step) {
  program_.host_steps.push_back(std::move(step));
  return static_cast<int>(program_.host_steps.size()) - 1;
}

void Assembly::make_pipeline(Command& command) {
  if (command.kind != Command::Kind::dispatch || command.pipeline) return;
  Kernel& kernel = kernels_[static_cast<size_t>(command.kernel)];
  if (!kernel.pipeline) kernel.pipeline = &device_.pipeline(kernel.shader, file_name(kernel.name));
  command.pipeline = kernel.pipeline;
}

void Assembly::make_pipelines(std::vector<Command>& list) {
  for (Command& command : list) make_pipeline(command);
}

Program Assembly::finish(std::vector<Command> commands) {
  make_pipelines(commands);
  program_.commands = std::move(commands);
  return std::move(program_);
}

// Of a kernel: for NEAP_DUMP and messages.
std::string Assembly::file_name(const std::string& what) {
  std::string name = fmt::format("{}-{:03}-{}", dump_name_.empty() ? "kernel" : dump_name_, named_++, what);
  for (char& c : name) {
    if (!ascii::is_alnum(c) && c != '-') c = '_';
  }
  return name.substr(0, 100);
}

}  // namespace neap::vk
