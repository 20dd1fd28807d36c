// What a device can do, and what the kernels make of it: a pure function of recorded limits, tested without a device.
#pragma once

#include <neap/dtype.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "planner/plan/device_limits.h"
#include "planner/plan/device_record.h"

namespace neap::vk {

using planner::DeviceRecord;
using planner::record_from_json;
using planner::to_json;

/// Choices says how kernels are written for a device. Sizes are defaults, which choose() replaces. How its sizes were
/// chosen is not on record; `neap-bench --case random-normal,random-matmul,gather-grad --device vulkan --limits`
/// measures kernels that depend on them.
struct Choices {
  uint32_t workgroup = 128;         // invocations of an element-wise kernel's workgroup; a power of two
  uint32_t reduce_workgroup = 256;  // of a workgroup that reduces one row together; a power of two
  uint32_t elements = 1;            // elements of an invocation in element-wise kernels
  bool one_workgroup = false;       // kernels take all of `workgroup`, and no second one if `elements` allow it
  bool cpu = false;                 // a CPU runs the kernels: it gains nothing from neighbours that read neighbouring
                                    // elements, and reads words at any address
  bool fused32 = true, fused64 = true;  // fma() rounds once
  bool own_division = false;            // quotients and roots of f32 are left to the device: it rounds them as IEEE 754
                                        // has it, or its fma(), of which exact ones are made, does not round once
  // The driver takes x * 0 for 0 and x + 0 for x, whatever x is and whatever kernels declare: it must not see a zero.
  bool folds_zeros = false;
  // Execution modes that kernels declare: DenormPreserve and SignedZeroInfNanPreserve, of 32 and 64 bits.
  bool denorm32 = false, denorm64 = false, specials32 = false, specials64 = false;
  uint32_t subgroup = 0;                     // required subgroup size, 0: reductions go through shared memory alone
  bool size_control = false;                 // pipelines ask for `subgroup` explicitly
  bool storage8 = false, storage16 = false;  // else narrow elements are read and written inside 32-bit words
  bool int64 = false, float64 = false;
  enum class FloatAdd : uint8_t { atomic, exchange } add32 = FloatAdd::exchange, add64 = FloatAdd::exchange;
  bool shared_add32 = false, shared_add64 = false;  // atomic sums of floats in shared memory
  uint32_t shared_bytes = 16 << 10;                 // of a workgroup's shared memory
  bool atomic64 = false;                            // 64-bit integer atomics (and with them compare-exchange on f64)
  // Cooperative matrices of a subgroup (VK_KHR_cooperative_matrix): f16 [m, k] times f16 [k, n] into f32; 0: none. A
  // workgroup's tile of a product is as many subgroups along m and n, each of as many matrices. Powers of two.
  std::array<uint32_t, 3> matrix{};
  std::array<uint32_t, 2> matrix_groups{1, 1}, matrix_block{1, 1};
  uint32_t matrix_slice = 32;                                                  // terms of it in shared memory at a time
  bool matrix_bf16 = false;                                                    // of bf16 too
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
  using Memory = planner::ArrayMemory;
  Memory memory = Memory::staged;
  uint64_t largest_block = 0;  // bytes of the largest single allocation asked for
};

/// Returns the choices for a device. Throws DeviceError when it lacks what every kernel needs: Vulkan 1.2, buffer
/// device address, timeline semaphores, scalar block layout, 64-bit integers; the message names everything that is
/// missing.
Choices choose(const DeviceRecord& device);

/// Returns the message of that DeviceError, or nullopt for a device that can run kernels.
std::optional<std::string> unfit_for(const DeviceRecord& device);

/// Returns `device` with the type of `other`, unless that is a CPU, and with the lesser of both in workgroups' sizes,
/// shared memory, texels and the features that kernels can do without.
DeviceRecord weakened(DeviceRecord device, const DeviceRecord& other);

/// Returns why arrays of this dtype cannot be computed with on the device ("float64 arithmetic (shaderFloat64)"), or
/// nullopt.
std::optional<std::string> lacks(const Choices& choices, DType dtype);

}  // namespace neap::vk
