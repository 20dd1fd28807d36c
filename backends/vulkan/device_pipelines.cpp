// Shaders to pipelines, and what the driver has compiled on disk.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/vulkan/device_impl.h"
#include "backends/vulkan/spirv.h"
#include "core/check.h"
#include "core/dump.h"
#include "core/file_cache.h"
#include "core/hash.h"

namespace neap::vk {

namespace {

constexpr int kSaveEvery = 32;  // pipelines; a process that is killed loses no more than these

// A driver is to check this itself; some trust it.
bool made_by(const PhysicalDevice& device, const std::string& blob) {
  VkPipelineCacheHeaderVersionOne header;
  if (blob.size() < sizeof header) return false;
  std::memcpy(&header, blob.data(), sizeof header);
  return header.headerSize >= sizeof header && header.headerSize <= blob.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == device.record.vendor_id &&
         header.deviceID == device.record.device_id &&
         std::equal(device.pipeline_cache_uuid.begin(), device.pipeline_cache_uuid.end(), header.pipelineCacheUUID);
}

}  // namespace

const Pipeline& DeviceImpl::pipeline(const Shader& shader, const std::string& name) {
  check_usable();
  Pipeline* found = nullptr;
  {
    const std::lock_guard lock(pipelines_mutex_);
    auto& slot = pipelines_[(shader.full_subgroups ? "subgroups\n" : "\n") + shader.glsl];
    if (!slot) slot = std::make_unique<Pipeline>();
    found = slot.get();
  }
  bool made = false;
  {
    const std::lock_guard lock(found->mutex);
    if (!found->handle) {
      make_pipeline(*found, shader, name);
      made = true;
    }
  }
  if (dump_dir()) {
    dump_text(name + ".glsl", shader.glsl);
    dump_text(name + ".spvasm", disassemble(found->words));
  }
  if (made && unsaved_.fetch_add(1) + 1 >= kSaveEvery) save_pipeline_cache();
  return *found;
}

VkPipelineLayout DeviceImpl::make_layout(VkDescriptorSetLayout set) {
  VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Push)};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  info.setLayoutCount = set ? 1 : 0;
  info.pSetLayouts = &set;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  check(call_.vkCreatePipelineLayout(device_, &info, nullptr, &layout), "vkCreatePipelineLayout");
  return layout;
}

void DeviceImpl::lay_out_views(Pipeline& pipeline, const Shader& shader) {
  if (pipeline.layout) return;  // its pipeline could not be made
  if (!shader.views.empty()) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (const View& view : shader.views) {
      bindings.push_back(
          {static_cast<uint32_t>(bindings.size()), descriptor_type(view), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    }
    VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    info.bindingCount = static_cast<uint32_t>(bindings.size());
    info.pBindings = bindings.data();
    check(call_.vkCreateDescriptorSetLayout(device_, &info, nullptr, &pipeline.set), "vkCreateDescriptorSetLayout");
  }
  pipeline.layout = pipeline.set ? make_layout(pipeline.set) : layout_;
}

void DeviceImpl::make_pipeline(Pipeline& pipeline, const Shader& shader, const std::string& name) {
  std::vector<uint32_t> words = compile_glsl(shader.glsl, name);
  lay_out_views(pipeline, shader);
  VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = words.size() * sizeof(uint32_t);
  module_info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  check(call_.vkCreateShaderModule(device_, &module_info, nullptr, &module), "kernel " + name);

  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
  size.requiredSubgroupSize = choices_.subgroup;
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = pipeline.layout;
  if (shader.full_subgroups && choices_.size_control) {
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    info.stage.pNext = &size;
  }
  const VkResult result = call_.vkCreateComputePipelines(device_, pipeline_cache_, 1, &info, nullptr, &pipeline.handle);
  call_.vkDestroyShaderModule(device_, module, nullptr);
  check(result, "kernel " + name);
  pipeline.fresh = choices_.compiles_late;
  if (driver().validation) {
    VkDebugUtilsObjectNameInfoEXT named{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
    named.objectType = VK_OBJECT_TYPE_PIPELINE;
    named.objectHandle = reinterpret_cast<uint64_t>(pipeline.handle);
    named.pObjectName = name.c_str();
    vkSetDebugUtilsObjectNameEXT(device_, &named);
  }
  if (dump_dir()) pipeline.words = std::move(words);
}

std::string DeviceImpl::pipeline_cache_name() const {
  std::string key(physical_.driver_uuid.begin(), physical_.driver_uuid.end());
  key.append(physical_.pipeline_cache_uuid.begin(), physical_.pipeline_cache_uuid.end());
  key += fmt::format(" {} {} {}", record().vendor_id, record().device_id, physical_.driver_version);
  return "pipelines-" + xxh3_hex(key) + ".bin";
}

VkPipelineCache DeviceImpl::make_pipeline_cache(const std::string& blob) {
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  if (made_by(physical_, blob)) {
    info.initialDataSize = blob.size();
    info.pInitialData = blob.data();
  }
  VkPipelineCache cache = VK_NULL_HANDLE;
  check(call_.vkCreatePipelineCache(device_, &info, nullptr, &cache), "vkCreatePipelineCache");
  return cache;
}

void DeviceImpl::load_pipeline_cache() {
  pipeline_cache_ = make_pipeline_cache(load_cached(pipeline_cache_name()).value_or(""));
}

void DeviceImpl::save_pipeline_cache() noexcept {
  if (!pipeline_cache_ || unsaved_.exchange(0) == 0) return;
  VkPipelineCache merged = VK_NULL_HANDLE;
  try {
    // With what other processes have written meanwhile.
    merged = make_pipeline_cache(load_cached(pipeline_cache_name()).value_or(""));
    check(call_.vkMergePipelineCaches(device_, merged, 1, &pipeline_cache_), "vkMergePipelineCaches");
    size_t bytes = 0;
    check(call_.vkGetPipelineCacheData(device_, merged, &bytes, nullptr), "vkGetPipelineCacheData");
    std::string blob(bytes, '\0');
    check(call_.vkGetPipelineCacheData(device_, merged, &bytes, blob.data()), "vkGetPipelineCacheData");
    blob.resize(bytes);
    store_cached(pipeline_cache_name(), blob);
  } catch (const std::exception&) {  // without a cache the next process compiles again
  }
  if (merged) call_.vkDestroyPipelineCache(device_, merged, nullptr);
}

}  // namespace neap::vk
