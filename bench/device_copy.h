// The yardstick of a device: how fast one of its kernels copies its own memory.
#pragma once

#include <neap/device.h>

namespace bench {

// Bytes read and written in a second by a copy larger than caches: by a kernel or by the driver, whichever is faster.
// The device is a Vulkan device.
double device_copy_rate(neap::Device device);

}  // namespace bench
