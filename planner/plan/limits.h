// Plans are made for the limits of a device, one that is here or one that a file describes. Tested in
// tests/planner/limits_test.cpp.
#pragma once

#include <neap/device.h>

#include <string>
#include <string_view>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Reads limits from JSON (docs/devices.md): the members of Limits (<neap/device.h>) by name, or the record of a Vulkan
/// device (device_record.h), from which they follow as for a device that is here (device_limits.h). Throws UserError
/// that names what is wrong.
Limits parse_limits(std::string_view json, const std::string& name);

/// Returns what a plan is made for under these limits. The device's memory is no part of it: that is a budget. Throws
/// OptionError that names a member with a value that no device has.
Target target_of(const Limits& limits);

/// Throws OutOfMemoryError where the buffers of a plan, not yet placed, have nearly 2^64 bytes together, or those that
/// are not inputs 2^62, as later passes add them up. `name` is the function's, for the message.
void check_countable(const PlanData& plan, std::string_view name);

/// Throws OutOfMemoryError where a buffer of the plan is larger than any that the device can have.
void check_limits(const PlanData& plan, const Target& target);

}  // namespace neap::planner
