// The executable of a plan on a Vulkan device. Tested in tests/vulkan.
#pragma once

#include <memory>
#include <string>

#include "backends/executable.h"
#include "backends/vulkan/device.h"

namespace neap::vk {

/// Compiles every kernel of the plan, which was made for the device's limits. Throws DeviceError or UserError.
std::shared_ptr<const backends::Executable> compile_plan(planner::PlanData plan, std::shared_ptr<Device> device,
                                                         const std::string& dump_name);

}  // namespace neap::vk
