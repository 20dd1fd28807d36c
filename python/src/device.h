// Devices as arguments.
#pragma once

#include "args.h"

namespace neap::python {

/// Returns the device that "cpu", "vulkan", "vulkan:1" or a Device names.
Device device_from(nb::handle object);

}  // namespace neap::python
