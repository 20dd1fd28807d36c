// What a driver says of a device, as a DeviceRecord; and which of its features are turned on.

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/vulkan/instance.h"
#include "core/os/os.h"

namespace neap::vk {

namespace {

// As kMatrixExtension (instance.h) declares them.
enum MatrixElement : int32_t { kFloat16 = 0, kFloat32 = 1, kBfloat16 = 1000141000 };
struct MatrixProperties {
  VkStructureType sType = static_cast<VkStructureType>(1000506001);
  void* pNext = nullptr;
  uint32_t m = 0, n = 0, k = 0;
  int32_t a = 0, b = 0, c = 0, result = 0;  // MatrixElement
  VkBool32 saturating = VK_FALSE;
  int32_t scope = 0;  // 3: subgroup
};
struct MatrixStages {
  VkStructureType sType = static_cast<VkStructureType>(1000506002);
  void* pNext = nullptr;
  VkShaderStageFlags supported = 0;
};
using GetMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, MatrixProperties*);

std::string type_name(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
    default: return "other";
  }
}

// Appends `next` to the chain whose last link is `*tail`.
template <class T>
void link(void**& tail, T& next) {
  *tail = &next;
  tail = &next.pNext;
}

struct Properties {
  VkPhysicalDeviceProperties2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  VkPhysicalDeviceVulkan11Properties v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties size_control{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceMaintenance4Properties maintenance4{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  MatrixStages matrix;

  explicit Properties(const PhysicalDevice& d) {
    void** tail = &core.pNext;
    if (d.api >= VK_API_VERSION_1_2) link(tail, v11), link(tail, v12);
    if (d.promoted(VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) link(tail, size_control);
    if (d.promoted(VK_API_VERSION_1_3, VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) link(tail, maintenance4);
    if (d.has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) link(tail, host);
    if (d.has(kMatrixExtension)) link(tail, matrix);
    vkGetPhysicalDeviceProperties2(d.handle, &core);
  }
};

void describe_limits(const PhysicalDevice& d, const Properties& p, DeviceRecord& r) {
  const VkPhysicalDeviceLimits& limits = p.core.properties.limits;
  r.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  std::copy_n(limits.maxComputeWorkGroupSize, 3, r.max_workgroup_size.begin());
  std::copy_n(limits.maxComputeWorkGroupCount, 3, r.max_workgroup_count.begin());
  r.max_shared_memory = limits.maxComputeSharedMemorySize;
  r.max_push_constants = limits.maxPushConstantsSize;
  r.max_storage_buffer_range = limits.maxStorageBufferRange;
  r.max_texel_elements = limits.maxTexelBufferElements;
  r.texel_alignment = static_cast<uint32_t>(limits.minTexelBufferOffsetAlignment);
  r.max_allocation_count = limits.maxMemoryAllocationCount;
  if (d.api >= VK_API_VERSION_1_2) {
    r.driver = p.v12.driverName;
    r.max_memory_allocation = p.v11.maxMemoryAllocationSize;
    r.subgroup_size = p.v11.subgroupSize;
    const bool compute = p.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT;
    r.subgroup_arithmetic = compute && (p.v11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
    r.subgroup_shuffle = compute && (p.v11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
    r.denorm_preserve16 = p.v12.shaderDenormPreserveFloat16;
    r.denorm_preserve32 = p.v12.shaderDenormPreserveFloat32;
    r.denorm_preserve64 = p.v12.shaderDenormPreserveFloat64;
    r.signed_zero_inf_nan_preserve32 = p.v12.shaderSignedZeroInfNanPreserveFloat32;
    r.signed_zero_inf_nan_preserve64 = p.v12.shaderSignedZeroInfNanPreserveFloat64;
    r.rounding_rte16 = p.v12.shaderRoundingModeRTEFloat16;
    r.rounding_rte32 = p.v12.shaderRoundingModeRTEFloat32;
  }
  r.max_buffer_size = p.maintenance4.maxBufferSize ? p.maintenance4.maxBufferSize : r.max_memory_allocation;
  // Around an array there may be nothing but its own pages: where imports take more, the device imports no array.
  if (p.host.minImportedHostPointerAlignment <= os::page_bytes()) {
    r.imported_host_alignment = p.host.minImportedHostPointerAlignment;
  }
}

void describe_features(const PhysicalDevice& d, const Properties& p, const FeatureChain& f, DeviceRecord& r) {
  r.sparse_binding = f.core.features.sparseBinding && d.binds_sparsely;
  r.float64 = f.core.features.shaderFloat64;
  r.int64 = f.core.features.shaderInt64;
  r.int16 = f.core.features.shaderInt16;
  r.storage_16bit = f.v11.storageBuffer16BitAccess;
  r.buffer_device_address = f.v12.bufferDeviceAddress;
  r.timeline_semaphore = f.v12.timelineSemaphore;
  r.scalar_block_layout = f.v12.scalarBlockLayout;
  r.int8 = f.v12.shaderInt8;
  r.float16 = f.v12.shaderFloat16;
  r.storage_8bit = f.v12.storageBuffer8BitAccess;
  r.atomic_int64 = f.v12.shaderBufferInt64Atomics;
  r.atomic_float32_add = f.atomic_float.shaderBufferFloat32AtomicAdd;
  r.atomic_float64_add = f.atomic_float.shaderBufferFloat64AtomicAdd;
  r.shared_float32_add = f.atomic_float.shaderSharedFloat32AtomicAdd;
  r.shared_float64_add = f.atomic_float.shaderSharedFloat64AtomicAdd;
  r.memory_budget = d.has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  r.subgroup_size_control = f.size_control.subgroupSizeControl && f.size_control.computeFullSubgroups &&
                            (p.size_control.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
  if (r.subgroup_size_control) {
    r.min_subgroup_size = p.size_control.minSubgroupSize;
    r.max_subgroup_size = p.size_control.maxSubgroupSize;
    r.max_workgroup_subgroups = p.size_control.maxComputeWorkgroupSubgroups;
  }
}

void describe_memory(VkPhysicalDevice handle, DeviceRecord& r) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(handle, &memory);
  constexpr VkMemoryPropertyFlags kBoth =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  r.all_memory_host_visible = true;
  for (uint32_t heap = 0; heap < memory.memoryHeapCount; ++heap) {
    if (!(memory.memoryHeaps[heap].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)) continue;
    const auto has_type = [&](VkMemoryPropertyFlags mask, VkMemoryPropertyFlags flags) {
      return std::any_of(memory.memoryTypes, memory.memoryTypes + memory.memoryTypeCount,
                         [&](auto& type) { return type.heapIndex == heap && (type.propertyFlags & mask) == flags; });
    };
    if (!has_type(VK_MEMORY_PROPERTY_PROTECTED_BIT, 0)) continue;  // of use to protected queues alone (Mali has one)
    r.device_local_heaps.push_back(memory.memoryHeaps[heap].size);
    const bool visible = has_type(kBoth, kBoth);
    r.host_visible_device_local |= visible;
    r.all_memory_host_visible &= visible;
  }
}

void describe_queue(PhysicalDevice& d) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(d.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(d.handle, &count, families.data());
  // A family for compute alone is not held up by a desktop's frames; but rather one that can tell the time.
  int best = -1;
  for (uint32_t i = 0; i < count; ++i) {
    const VkQueueFamilyProperties& family = families[i];
    if (!(family.queueFlags & VK_QUEUE_COMPUTE_BIT) || family.queueCount == 0) continue;
    const int score = (family.timestampValidBits != 0 ? 2 : 0) + (family.queueFlags & VK_QUEUE_GRAPHICS_BIT ? 0 : 1);
    if (score <= best) continue;
    best = score;
    d.queue_family = i;
    d.timestamp_bits = family.timestampValidBits;
    d.binds_sparsely = family.queueFlags & VK_QUEUE_SPARSE_BINDING_BIT;
  }
}

// Of two such factors with f32 sums, held by a subgroup.
std::vector<std::array<uint32_t, 3>> matrix_shapes(VkPhysicalDevice handle, MatrixElement factor) {
  const auto get = reinterpret_cast<GetMatrixProperties>(
      vkGetInstanceProcAddr(volkGetLoadedInstance(), "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (!get || get(handle, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<MatrixProperties> all(count);
  if (get(handle, &count, all.data()) < VK_SUCCESS) return {};
  all.resize(count);
  std::vector<std::array<uint32_t, 3>> shapes;
  for (const auto& m : all) {
    const bool fits = m.a == factor && m.b == factor && m.c == kFloat32 && m.result == kFloat32 && m.scope == 3;
    if (fits && !m.saturating) shapes.push_back({m.m, m.n, m.k});
  }
  return shapes;
}

std::vector<std::string> extensions_of(VkPhysicalDevice handle) {
  uint32_t count = 0;
  if (vkEnumerateDeviceExtensionProperties(handle, nullptr, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<VkExtensionProperties> properties(count);
  if (vkEnumerateDeviceExtensionProperties(handle, nullptr, &count, properties.data()) < VK_SUCCESS) return {};
  std::vector<std::string> names;
  for (const auto& p : properties) names.emplace_back(p.extensionName);
  return names;
}

}  // namespace

bool PhysicalDevice::has(std::string_view extension) const {
  return std::ranges::find(extensions, extension) != extensions.end();
}

bool PhysicalDevice::promoted(uint32_t version, std::string_view extension) const {
  return api >= version || has(extension);
}

FeatureChain::FeatureChain(const PhysicalDevice& d) {
  void** tail = &core.pNext;
  if (d.api >= VK_API_VERSION_1_2) link(tail, v11), link(tail, v12);
  if (d.promoted(VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) link(tail, size_control);
  if (d.promoted(VK_API_VERSION_1_3, VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) link(tail, maintenance4);
  if (d.has(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) link(tail, atomic_float);
  if (d.has(kMatrixExtension)) link(tail, matrix);
  if (d.has(kBfloat16Extension)) link(tail, bfloat16);
}

PhysicalDevice describe(VkPhysicalDevice handle, uint32_t instance_version) {
  PhysicalDevice d;
  d.handle = handle;
  DeviceRecord& r = d.record;
  VkPhysicalDeviceProperties core;
  vkGetPhysicalDeviceProperties(handle, &core);
  d.api = std::min(core.apiVersion, instance_version);
  d.driver_version = core.driverVersion;
  std::copy_n(core.pipelineCacheUUID, VK_UUID_SIZE, d.pipeline_cache_uuid.begin());
  r.name = core.deviceName;
  r.type = type_name(core.deviceType);
  r.vendor_id = core.vendorID;
  r.device_id = core.deviceID;
  r.api_version = VK_API_VERSION_MAJOR(d.api) * 1000 + VK_API_VERSION_MINOR(d.api);
  d.extensions = extensions_of(handle);
  describe_queue(d);
  if (d.timestamp_bits != 0) r.timestamp_period = core.limits.timestampPeriod;
  describe_memory(handle, r);
  if (d.api < VK_API_VERSION_1_1) return d;  // choose() refuses it; the rest cannot be asked for

  const Properties properties(d);
  FeatureChain features(d);
  vkGetPhysicalDeviceFeatures2(handle, &features.core);
  describe_limits(d, properties, r);
  describe_features(d, properties, features, r);
  if (d.api >= VK_API_VERSION_1_2) std::copy_n(properties.v11.driverUUID, VK_UUID_SIZE, d.driver_uuid.begin());
  const bool in_compute = properties.matrix.supported & VK_SHADER_STAGE_COMPUTE_BIT;
  if (features.matrix.cooperativeMatrix && in_compute && features.v12.vulkanMemoryModel) {
    r.matrix_shapes = matrix_shapes(handle, kFloat16);
    if (features.bfloat16.shaderBFloat16CooperativeMatrix) r.matrix_shapes_bf16 = matrix_shapes(handle, kBfloat16);
  }
  return d;
}

std::vector<const char*> enable_features(const PhysicalDevice& d, FeatureChain& enabled) {
  FeatureChain have(d);
  vkGetPhysicalDeviceFeatures2(d.handle, &have.core);
  const auto take = [](VkBool32& to, VkBool32 from) { to = from; };
  take(enabled.core.features.sparseBinding, have.core.features.sparseBinding);
  take(enabled.core.features.shaderFloat64, have.core.features.shaderFloat64);
  take(enabled.core.features.shaderInt64, have.core.features.shaderInt64);
  take(enabled.core.features.shaderInt16, have.core.features.shaderInt16);
  take(enabled.v11.storageBuffer16BitAccess, have.v11.storageBuffer16BitAccess);
  take(enabled.v12.bufferDeviceAddress, have.v12.bufferDeviceAddress);
  take(enabled.v12.timelineSemaphore, have.v12.timelineSemaphore);
  take(enabled.v12.scalarBlockLayout, have.v12.scalarBlockLayout);
  take(enabled.v12.shaderInt8, have.v12.shaderInt8);
  take(enabled.v12.shaderFloat16, have.v12.shaderFloat16);
  take(enabled.v12.storageBuffer8BitAccess, have.v12.storageBuffer8BitAccess);
  take(enabled.v12.shaderBufferInt64Atomics, have.v12.shaderBufferInt64Atomics);
  take(enabled.v12.shaderSubgroupExtendedTypes, have.v12.shaderSubgroupExtendedTypes);
  take(enabled.v12.vulkanMemoryModel, have.v12.vulkanMemoryModel);  // cooperative matrices need it
  take(enabled.v12.vulkanMemoryModelDeviceScope, have.v12.vulkanMemoryModelDeviceScope);
  take(enabled.size_control.subgroupSizeControl, have.size_control.subgroupSizeControl);
  take(enabled.size_control.computeFullSubgroups, have.size_control.computeFullSubgroups);
  take(enabled.maintenance4.maintenance4, have.maintenance4.maintenance4);
  take(enabled.atomic_float.shaderBufferFloat32AtomicAdd, have.atomic_float.shaderBufferFloat32AtomicAdd);
  take(enabled.atomic_float.shaderBufferFloat64AtomicAdd, have.atomic_float.shaderBufferFloat64AtomicAdd);
  take(enabled.atomic_float.shaderSharedFloat32AtomicAdd, have.atomic_float.shaderSharedFloat32AtomicAdd);
  take(enabled.atomic_float.shaderSharedFloat64AtomicAdd, have.atomic_float.shaderSharedFloat64AtomicAdd);
  take(enabled.matrix.cooperativeMatrix, have.matrix.cooperativeMatrix);
  take(enabled.bfloat16.shaderBFloat16Type, have.bfloat16.shaderBFloat16Type);
  take(enabled.bfloat16.shaderBFloat16CooperativeMatrix, have.bfloat16.shaderBFloat16CooperativeMatrix);

  std::vector<const char*> extensions;
  for (const char* name :
       {VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
        VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, kMatrixExtension, kBfloat16Extension, "VK_KHR_portability_subset"}) {
    if (d.has(name)) extensions.push_back(name);
  }
  if (d.api < VK_API_VERSION_1_3) {
    for (const char* name : {VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_KHR_MAINTENANCE_4_EXTENSION_NAME}) {
      if (d.has(name)) extensions.push_back(name);
    }
  }
  return extensions;
}

}  // namespace neap::vk
