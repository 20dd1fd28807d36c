// Devices as arguments.
#pragma once

#include "args.h"

namespace neap::python {

/// Returns the device that "cpu", "vulkan", "vulkan:1" or a Device names.
Device device_from(nb::handle object);

/// Returns the array in the memory of the device that an object names; the array itself for None.
Array placed(const Array& x, nb::handle device);

}  // namespace neap::python
