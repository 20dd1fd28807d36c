// The loader, the instance and the physical devices: opened once, kept until the process ends.
#pragma once

#include <volk.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/features.h"

namespace neap::vk {

/// PhysicalDevice is a device of the driver and what opening it needs beside the record.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  DeviceRecord record;
  uint32_t api = 0;  // the version that both loader and device speak
  std::vector<std::string> extensions;
  uint32_t queue_family = 0;
  uint32_t timestamp_bits = 0;
  bool binds_sparsely = false;  // the queue
  uint32_t driver_version = 0;
  std::array<uint8_t, VK_UUID_SIZE> driver_uuid{}, pipeline_cache_uuid{};

  bool has(std::string_view extension) const;
  /// Returns whether the device has the extension, or is of the version that took it in.
  bool promoted(uint32_t version, std::string_view extension) const;
};

struct Driver {
  VkInstance handle = VK_NULL_HANDLE;
  bool validation = false;  // the layer is on
  std::vector<PhysicalDevice> devices;
};

/// This says what to do where there is no device, after "install ".
inline constexpr std::string_view kDriverHint =
    "the GPU's Vulkan driver (Debian and Ubuntu: mesa-vulkan-drivers, or the vendor's own; mesa's llvmpipe needs no "
    "GPU)";

/// Returns the driver, opened on first use. Throws DeviceError when there is no loader or it refuses.
const Driver& driver();

/// Returns the physical devices whose name holds NEAP_VULKAN_DEVICE (in either case), or all of them when it is not
/// set.
std::vector<const PhysicalDevice*> visible_devices();

/// Returns everything about one device (instance_devices.cpp).
PhysicalDevice describe(VkPhysicalDevice handle, uint32_t instance_version);

/// These extensions are younger than the headers of Vulkan 1.3.239 (Debian 12); here is what is used of their
/// declarations.
inline constexpr const char* kMatrixExtension = "VK_KHR_cooperative_matrix";
inline constexpr const char* kBfloat16Extension = "VK_KHR_shader_bfloat16";
struct MatrixFeatures {
  VkStructureType sType = static_cast<VkStructureType>(1000506000);
  void* pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE, cooperativeMatrixRobustBufferAccess = VK_FALSE;
};
struct Bfloat16Features {
  VkStructureType sType = static_cast<VkStructureType>(1000141000);
  void* pNext = nullptr;
  VkBool32 shaderBFloat16Type = VK_FALSE, shaderBFloat16DotProduct = VK_FALSE,
           shaderBFloat16CooperativeMatrix = VK_FALSE;
};

/// FeatureChain links the structures that say which features a device has, or which are to be enabled, for the version
/// and the extensions of the device.
struct FeatureChain {
  explicit FeatureChain(const PhysicalDevice& device);
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  VkPhysicalDeviceFeatures2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceSubgroupSizeControlFeatures size_control{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDeviceMaintenance4Features maintenance4{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  MatrixFeatures matrix;
  Bfloat16Features bfloat16;
};

/// Fills `enabled` with those of `device`'s features that kernels use, and returns the extensions to enable.
std::vector<const char*> enable_features(const PhysicalDevice& device, FeatureChain& enabled);

/// Returns a name such as "VK_ERROR_DEVICE_LOST".
std::string result_name(VkResult result);

}  // namespace neap::vk
