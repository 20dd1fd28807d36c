// A backend is what a kind of device gives to the rest of the house, which names none: a folder, a class derived from
// this one and a line in backends/registry.cpp; a program may add its own. Tested in
// tests/conformance/backend_test.cpp.
#pragma once

#include <neap/device.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "backends/executable.h"
#include "backends/object.h"
#include "core/buffer.h"
#include "planner/plan/plan.h"

namespace neap::backends {

/// Describes a device that was found.
struct FoundDevice {
  std::string name, driver;
  size_t memory = 0;  // bytes of its own; 0 when it uses the host's
};

/// Counts bytes in a device's own memory.
struct OwnMemory {
  size_t live = 0, peak = 0;
};

/// All threads may call these functions at once; `device` is the number of one of the backend's devices.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Returns the name of the backend (Device::backend), which lives as long as the process.
  virtual std::string_view name() const = 0;
  /// Lists its devices in the order of their numbers. It never throws.
  virtual std::vector<FoundDevice> list() const = 0;
  /// Returns what plans must keep to, all but the memory, which changes: capacity(). Throws DeviceError where there is
  /// no such device.
  virtual Limits limits(int device) const = 0;
  /// Tells whether compile() works: in a build without the CPU backend the host only holds arrays.
  virtual bool compiles() const { return true; }
  /// Compiles every kernel of a plan that was made for the device. `dump_name` is the stem of file names for NEAP_DUMP,
  /// or empty. Throws DeviceError or UserError.
  virtual std::shared_ptr<const Executable> compile(planner::PlanData plan, int device,
                                                    const std::string& dump_name) const = 0;
  /// Makes what compile() of this plan will need, as far as the device does so ahead, on the thread that calls, until
  /// it is asked to stop. It may throw as compile() does, or nothing.
  virtual void compile_ahead(const planner::PlanData& /*plan*/, const std::stop_token& /*stop*/) const {}
  /// Returns the plan as an object file. Throws UserError where the backend makes none.
  virtual Object object(const planner::PlanData& plan, const ObjectRequest& request) const;
  /// Returns the buffer in the device's memory, which is itself where that is the host's. Throws DeviceError or
  /// OutOfMemoryError.
  virtual BufferPtr bring(const BufferPtr& buffer, int device) const = 0;

  /// Returns the bytes that can be had of the device's own memory, those in use included; 0 where it uses the host's.
  virtual size_t capacity(int /*device*/) const { return 0; }
  /// Returns the bytes in use of the device's own memory; nullopt where it uses the host's, which counts them.
  virtual std::optional<OwnMemory> memory(int /*device*/) const { return std::nullopt; }
  /// Returns the bytes of the device's own memory that are free and kept for reuse.
  virtual size_t cached(int /*device*/) const { return 0; }
  /// Gives them back.
  virtual void release_cached(int /*device*/) const {}
  /// Begins to count OwnMemory::peak anew.
  virtual void reset_peak(int /*device*/) const {}
  /// Waits for all runs on all its devices: none of them holds on to a buffer then.
  virtual void synchronize() const {}
  /// Returns the number of the device whose own memory holds the buffer; nullopt where it is the host's, or another's.
  virtual std::optional<int> holder(const Buffer& /*buffer*/) const { return std::nullopt; }
};

/// Lists all backends, those of the build first; the first device of the first one that compiles is the default.
std::vector<const Backend*> all_backends();
/// Finds the backend of that name; nullptr where there is none.
const Backend* find_backend(std::string_view name);
/// Adds a backend for the rest of the process. Throws InternalError where another has its name.
void register_backend(std::unique_ptr<const Backend> backend);

}  // namespace neap::backends
