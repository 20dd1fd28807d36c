// What a kind of device gives to the rest of the house, which names none: a backend is a folder, a class of this and a
// line in backends/registry.cpp; a program may add its own. Tested in tests/conformance/backend_test.cpp.
#pragma once

#include <neap/device.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/executable.h"
#include "core/buffer.h"
#include "planner/plan/plan.h"

namespace neap::backends {

/// A device that is there.
struct FoundDevice {
  std::string name, driver;
  size_t memory = 0;  // bytes of its own; 0 when it uses the host's
};

/// Bytes in a device's own memory.
struct OwnMemory {
  size_t live = 0, peak = 0;
};

/// Functions of all threads; `device` is the number of one of its devices.
class Backend {
 public:
  virtual ~Backend() = default;

  /// What its devices are called: Device::backend. Lives as long as the process.
  virtual std::string_view name() const = 0;
  /// Its devices, in the order of their numbers. Never throws.
  virtual std::vector<FoundDevice> list() const = 0;
  /// What plans must keep to, all but the memory, which changes: capacity(). DeviceError where there is no such device.
  virtual Limits limits(int device) const = 0;
  /// Whether compile() can: in a build without the CPU backend the host only holds arrays.
  virtual bool compiles() const { return true; }
  /// Compiles every kernel of a plan that was made for the device. `dump_name`: file name stem for NEAP_DUMP, or empty.
  /// DeviceError, UserError.
  virtual std::shared_ptr<const Executable> compile(planner::PlanData plan, int device,
                                                    const std::string& dump_name) const = 0;
  /// The buffer in the device's memory: itself where that is the host's. DeviceError, OutOfMemoryError.
  virtual BufferPtr bring(const BufferPtr& buffer, int device) const = 0;

  /// Bytes that can be had of the device's own memory, what lives there included; 0 where it uses the host's.
  virtual size_t capacity(int /*device*/) const { return 0; }
  /// What lives in the device's own memory; nullopt where it uses the host's, which counts it.
  virtual std::optional<OwnMemory> memory(int /*device*/) const { return std::nullopt; }
  /// Begins to count OwnMemory::peak anew.
  virtual void reset_peak(int /*device*/) const {}
  /// Waits for all runs on all its devices: none of them holds on to a buffer then.
  virtual void synchronize() const {}
};

/// All backends, those of the build first; the first device of the first one that compiles is the default.
std::vector<const Backend*> all_backends();
/// nullptr where there is none of the name.
const Backend* find_backend(std::string_view name);
/// Adds one for the rest of the process. InternalError where one has its name.
void register_backend(std::unique_ptr<const Backend> backend);

}  // namespace neap::backends
