// What every device backend gives: a compiled plan that runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "planner/plan/plan.h"

namespace neap {
struct Limits;  // <neap/device.h>, whose cpu() is no name beside the namespace of the CPU backend
}

namespace neap::backends {

/// Seconds since an arbitrary start, of one executed step; for --trace and the report.
struct StepTiming {
  int step = 0;
  double begin = 0, end = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  virtual const planner::PlanData& plan() const = 0;
  /// False once its device was lost; runs throw DeviceError then.
  virtual bool usable() const { return true; }
  /// Runs the plan. `inputs` has one buffer for each plan input (arguments, captured); those that the plan donates are
  /// consumed (reset). Returns one buffer for each plan output. Allocates exactly what the plan says; where memory is
  /// short it throws, and all inputs are as they were.
  virtual std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs,
                                     std::vector<StepTiming>* timings = nullptr) const = 0;
};

/// Compiles every kernel of the plan for a Vulkan device (backends/vulkan), for which it was made:
/// vulkan_limits(device). DeviceError, UserError.
std::shared_ptr<const Executable> compile_vulkan(planner::PlanData plan, int device, const std::string& dump_name);
/// All but the memory, which changes: vulkan_capacity().
Limits vulkan_limits(int device);
/// Bytes that can be had of the device's own memory, what lives there included; 0 where it uses the host's.
size_t vulkan_capacity(int device);
/// Waits for all runs on Vulkan devices: none of them holds on to a buffer then.
void synchronize_vulkan();

struct VulkanDevice {
  std::string name, driver;
  size_t memory = 0;  // bytes of its own; 0 when it uses the host's
};
/// In the order of their numbers; empty where there is no loader. Never throws.
std::vector<VulkanDevice> vulkan_devices();

/// The buffer in the device's memory: itself where that is the host's. DeviceError, OutOfMemoryError.
BufferPtr bring_to_vulkan(const BufferPtr& buffer, int device);

/// What lives in a device's own memory; nullopt where it uses the host's, which counts it.
struct VulkanMemory {
  size_t live = 0, peak = 0;
};
std::optional<VulkanMemory> vulkan_memory(int device);
void reset_vulkan_peak(int device);

/// Compiles every kernel of the plan for the CPU (backends/cpu). `dump_name`: file name stem for NEAP_DUMP, or empty.
std::shared_ptr<const Executable> compile_cpu(planner::PlanData plan, const std::string& dump_name);

}  // namespace neap::backends
