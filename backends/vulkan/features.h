// What a device can do, and what the kernels make of it: a pure function of recorded limits, tested without a device.
#pragma once

#include <neap/dtype.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neap::vk {

/// Limits and features of a physical device, as the driver reports them. tests/data/devices holds those of real ones.
struct DeviceRecord {
  std::string name;    // VkPhysicalDeviceProperties::deviceName
  std::string driver;  // VkPhysicalDeviceDriverProperties::driverName
  std::string type;    // "discrete", "integrated", "virtual", "cpu", "other"
  uint32_t vendor_id = 0, device_id = 0;
  uint32_t api_version = 0;  // major * 1000 + minor, e.g. 1003

  // Limits.
  uint32_t max_workgroup_invocations = 128;
  std::array<uint32_t, 3> max_workgroup_size{128, 128, 64};
  std::array<uint32_t, 3> max_workgroup_count{65535, 65535, 65535};
  uint32_t max_shared_memory = 16384;  // bytes
  uint32_t max_push_constants = 128;   // bytes
  uint64_t max_storage_buffer_range = 1u << 27;
  uint32_t max_texel_elements = 65536;        // maxTexelBufferElements
  uint32_t texel_alignment = 256;             // minTexelBufferOffsetAlignment
  uint64_t max_memory_allocation = 1u << 30;  // maxMemoryAllocationSize
  uint64_t max_buffer_size = 1u << 30;        // maxBufferSize (maintenance4), or max_memory_allocation
  uint32_t max_allocation_count = 4096;
  uint32_t subgroup_size = 1, min_subgroup_size = 0, max_subgroup_size = 0;  // min, max: 0 without size control
  uint32_t max_workgroup_subgroups = 0;                                      // maxComputeWorkgroupSubgroups; 0: unknown
  double timestamp_period = 0;               // nanoseconds a tick; 0: no timestamps on compute queues
  uint64_t imported_host_alignment = 0;      // minImportedHostPointerAlignment; 0: no VK_EXT_external_memory_host
  std::vector<uint64_t> device_local_heaps;  // bytes
  bool host_visible_device_local = false;    // a memory type that is both, coherent
  bool all_memory_host_visible = false;      // every device-local heap has such a type (unified memory)

  // Features.
  bool buffer_device_address = false, timeline_semaphore = false, scalar_block_layout = false;
  bool float64 = false, int64 = false, int16 = false, int8 = false, float16 = false;  // arithmetic in shaders
  bool storage_8bit = false, storage_16bit = false;                                   // loads and stores
  bool subgroup_arithmetic = false, subgroup_shuffle = false;                         // in compute shaders
  bool subgroup_size_control = false;  // with full subgroups, in compute shaders
  bool atomic_int64 = false;           // shaderBufferInt64Atomics
  bool atomic_float32_add = false;     // shaderBufferFloat32AtomicAdd
  bool atomic_float64_add = false;     // shaderBufferFloat64AtomicAdd
  bool memory_budget = false;          // VK_EXT_memory_budget
  bool cooperative_matrix = false;  // VK_KHR_cooperative_matrix or VK_NV_cooperative_matrix with f16 inputs, f32 sums
  // m, n, k of those of VK_NV_cooperative_matrix, for which alone there is a compiler; of subgroups, in compute
  // shaders.
  std::vector<std::array<uint32_t, 3>> matrix_shapes;
  bool denorm_preserve32 = false, signed_zero_inf_nan_preserve32 = false, rounding_rte32 = false;  // float controls
  bool denorm_preserve64 = false, signed_zero_inf_nan_preserve64 = false;
  bool denorm_preserve16 = false, rounding_rte16 = false;
};

/// How kernels are written for a device.
struct Choices {
  uint32_t workgroup = 128;         // invocations of an element-wise kernel's workgroup; a power of two
  uint32_t reduce_workgroup = 256;  // of a workgroup that reduces one row together; a power of two
  uint32_t elements = 1;            // elements of an invocation in element-wise kernels
  bool one_workgroup = false;       // kernels take all of `workgroup`, and no second one if `elements` allow it
  bool cpu = false;                 // a CPU runs the kernels: it gains nothing from neighbours that read neighbouring
                                    // elements, and reads words at any address
  bool fused32 = true, fused64 = true;  // fma() rounds once
  // Execution modes that kernels declare: DenormPreserve and SignedZeroInfNanPreserve, of 32 and 64 bits.
  bool denorm32 = false, denorm64 = false, specials32 = false, specials64 = false;
  uint32_t subgroup = 0;                     // required subgroup size, 0: reductions go through shared memory alone
  bool size_control = false;                 // pipelines ask for `subgroup` explicitly
  bool storage8 = false, storage16 = false;  // else narrow elements are read and written inside 32-bit words
  bool int64 = false, float64 = false;
  enum class FloatAdd : uint8_t { atomic, exchange } add32 = FloatAdd::exchange, add64 = FloatAdd::exchange;
  bool atomic64 = false;  // 64-bit integer atomics (and with them compare-exchange on f64)
  // Cooperative matrices of a subgroup (VK_NV_cooperative_matrix): f16 [m, k] times f16 [k, n] into f32; 0: none. A
  // workgroup's tile of a product is as many subgroups along m and n, each of as many matrices. Powers of two.
  std::array<uint32_t, 3> matrix{};
  std::array<uint32_t, 2> matrix_groups{1, 1}, matrix_block{1, 1};
  uint32_t tile_m = 64, tile_n = 64, tile_k = 16, thread_m = 4, thread_n = 4;  // of the matrix product; powers of two
  // A subgroup makes a block of thread_m x (subgroup * thread_n) of the matrix product by itself.
  bool matmul_by_subgroup = false;
  // Iterations of all loops of an invocation together, after which the driver silently ends them; 0: any number.
  uint32_t most_iterations = 0;
  // The driver compiles a kernel when it first runs, in a thread of its own that the end of the process would disturb:
  // that run is waited for.
  bool compiles_late = false;
  // Large arrays are read through texel buffers of so many texels at most; 0: by address. llvmpipe gathers the elements
  // of texel buffers with vector instructions, and loads by address one lane after the other.
  uint32_t texels = 0;
  uint32_t texel_alignment = 256;  // bytes; where such a buffer may begin
  uint32_t enough_groups = 128;    // workgroups that keep the device busy: smaller products take smaller tiles
  enum class Memory : uint8_t {
    import,  // unified memory: arrays of the host are used where they lie
    mapped,  // device memory that the host maps; copies by the host
    staged,  // device memory that the host does not see; copies through a staging ring
  } memory = Memory::staged;
  uint64_t largest_block = 0;  // bytes of the largest single allocation asked for
};

/// The choices for a device. DeviceError when it lacks what every kernel needs: Vulkan 1.2, buffer device address,
/// timeline semaphores, scalar block layout, 64-bit integers; the message names everything that is missing.
Choices choose(const DeviceRecord& device);

/// The message of that DeviceError, or nullopt.
std::optional<std::string> unfit_for(const DeviceRecord& device);

/// `device` as if it were of the kind of `other`, unless that is a CPU, and could do no more than that.
DeviceRecord weakened(DeviceRecord device, const DeviceRecord& other);

/// Why arrays of this dtype cannot be computed with on the device ("float64 arithmetic (shaderFloat64)"), or nullopt.
std::optional<std::string> lacks(const Choices& choices, DType dtype);

/// A record as JSON and back; field names as above. A field that the text leaves out has the default above, the least
/// that Vulkan guarantees; "source" (where the text comes from) is passed over. UserError that names the field for a
/// text that is no record.
std::string to_json(const DeviceRecord&);
DeviceRecord record_from_json(std::string_view text);

}  // namespace neap::vk
