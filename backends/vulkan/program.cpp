#include "backends/vulkan/program.h"

#include <utility>

#include "backends/vulkan/assembly.h"
#include "backends/vulkan/steps.h"

namespace neap::vk {

Program compile_program(const planner::PlanData& plan, Device& device, const std::string& dump_name, bool views) {
  Assembly assembly(device, dump_name, views);
  Scope scope = assembly.addresses().outermost(plan);
  std::vector<Command> commands;
  lower_steps(assembly, scope, commands);
  return assembly.finish(std::move(commands));
}

}  // namespace neap::vk
