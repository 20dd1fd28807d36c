// Limits of devices as input of planning: of one that is here, or of one that a file describes.
#pragma once

#include <neap/device.h>

#include <string>
#include <string_view>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Limits from JSON (docs/devices.md): those of <neap/device.h> by name, or the record of a Vulkan device
/// (device_record.h), from which they follow as for a device that is here (device_limits.h). UserError that names what
/// is wrong.
Limits parse_limits(std::string_view json, const std::string& name);

/// What a plan is made for under these limits. Device memory is no part of it: it is a budget. OptionError that names
/// the member for what no device has.
Target target_of(const Limits& limits);

/// OutOfMemoryError where the buffers of a plan, not yet placed, have nearly 2^64 bytes and more together, or those
/// that are not arguments 2^62: what follows adds them up. `name`: of the function, for the message.
void check_countable(const PlanData& plan, std::string_view name);

/// OutOfMemoryError where a buffer of the plan is larger than any of the device: no order and no placement helps.
void check_limits(const PlanData& plan, const Target& target);

}  // namespace neap::planner
