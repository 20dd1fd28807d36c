// Devices: where a compiled function runs, and what memory it holds there.
#pragma once

#include <neap/array.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// Device names a device: a backend and a number.
struct Device {
  std::string_view backend = "cpu";  // its name, which lives as long as the process
  int index = 0;                     // among the backend's devices
  bool operator==(const Device&) const = default;
};

/// Returns the device of the host's processors.
inline Device cpu() { return {}; }
/// Returns GPU number `index` among the Vulkan devices, in the driver's order. Nothing is opened before it is used.
inline Device vulkan(int index = 0) { return {"vulkan", index}; }

/// Writes "cpu", "vulkan:1".
std::string to_string(Device device);

/// Returns where operations outside jit run, and jit's default: what set_default_device() or else the environment's
/// NEAP_DEVICE ("cpu", "vulkan", "vulkan:1") says; else the CPU, or, in a build without it, the first device of another
/// backend. Throws UserError when NEAP_DEVICE names no device.
Device default_device();
/// Sets it; nullopt: as the environment says.
void set_default_device(std::optional<Device> device);

/// DeviceInfo describes a device of this machine that Neap can run on.
struct DeviceInfo {
  Device device;       // by which jit and to_device() know it
  std::string name;    // "NVIDIA H200", "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string driver;  // its driver's name; empty for the CPU
  size_t memory = 0;   // bytes of its own memory; 0 when it uses the host's
};
/// Limits holds what a plan needs to know of a device, of one that is here or of any other: what it does not say is no
/// limit.
struct Limits {
  std::string name;   // in messages
  bool gpu = false;   // kernels as for a GPU: no packed products, sorts in blocks, tables that threads share
  size_t memory = 0;  // bytes that a run may hold; 0: no limit
  size_t largest_allocation = 0;  // bytes; an arena that is larger spans several; 0: no limit
  size_t largest_buffer = 0;      // bytes of one array; 0: no limit
  size_t alignment = 64;          // of what lies in an arena: a power of two, from 64 on
  bool wide_atomics = true;       // 64-bit atomics: float sums of scattered updates are taken in f64
  bool half_products = false;     // on a GPU: products of f16 operands with sums in f32, where they are large
  bool bf16_products = false;     // the same of bf16
  int count_tables = 1;           // on a GPU, of a scatter that counts rows
  bool host_memory = true;        // memory is the host's: results may be cut out of the arena
};
/// Returns the limits of a device of this machine. Throws DeviceError where there is none.
Limits limits(Device device, std::source_location loc = std::source_location::current());
/// Reads limits from JSON: these by name, or what a Vulkan driver reports (docs/devices.md). Throws UserError where it
/// cannot.
Limits read_limits(const std::filesystem::path& path, std::source_location loc = std::source_location::current());

/// Lists every device that this build and this machine offer. It never throws.
std::vector<DeviceInfo> devices();

/// Returns the array in the memory of a device, so that calls there need not copy it each time; the array itself where
/// it is there already, or where the device uses the host's memory. Shape and dtype are the same.
Array to_device(const Array& x, Device device, std::source_location loc = std::source_location::current());
/// Returns the device in whose memory the elements lie: the CPU for the host's, which other devices may use, too.
/// Throws TracerError for a traced array, UserError for a spec.
Device device_of(const Array& x, std::source_location loc = std::source_location::current());

/// Waits until every call on every device has finished. Results may be used without it: reading one waits for it.
void synchronize();

namespace memory {

/// Returns live_bytes() of a device's own memory; of the host's where it uses that.
size_t live_bytes(Device device);
/// Returns peak_bytes() of the same.
size_t peak_bytes(Device device);
/// Does reset_peak() for the same.
void reset_peak(Device device);
/// Returns cached_bytes() of the same. On a device it is what was freed and is kept for arrays of the same size; with
/// what is live it is never more than the most that was live.
size_t cached_bytes(Device device);
/// Gives that back to the driver, or to the system.
void release_cached(Device device);

}  // namespace memory
}  // namespace neap

#pragma GCC visibility pop
