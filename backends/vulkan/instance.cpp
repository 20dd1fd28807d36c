#define VOLK_IMPLEMENTATION
#include "backends/vulkan/instance.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "backends/vulkan/device.h"
#include "core/ascii.h"

namespace neap::vk {

namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";

// Never destroyed: drivers and layers may call back until the process has ended.
struct Messages {
  std::mutex mutex;
  std::vector<std::string> texts;

  void add(std::string text) {
    // Not fmt::print, which throws where standard error cannot be written: the caller is a driver.
    std::fputs(fmt::format("neap: vulkan validation: {}\n", text).c_str(), stderr);
    std::lock_guard lock(mutex);
    texts.push_back(std::move(text));
  }
};
Messages& messages() {
  static auto* messages = new Messages;
  return *messages;
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  messages().add(data->pMessage ? data->pMessage : "");
  return VK_FALSE;
}

std::vector<std::string> instance_extensions(const char* layer) {
  uint32_t count = 0;
  if (vkEnumerateInstanceExtensionProperties(layer, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<VkExtensionProperties> properties(count);
  if (vkEnumerateInstanceExtensionProperties(layer, &count, properties.data()) < VK_SUCCESS) return {};
  std::vector<std::string> names;
  for (const auto& p : properties) names.emplace_back(p.extensionName);
  return names;
}

bool layer_installed() {
  uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (vkEnumerateInstanceLayerProperties(&count, layers.data()) < VK_SUCCESS) return false;
  return std::ranges::any_of(layers, [](const auto& l) { return std::strcmp(l.layerName, kLayer) == 0; });
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool validation_wanted() {
  const char* value = std::getenv("NEAP_VULKAN_VALIDATE");
  return value && *value && std::string_view(value) != "0";
}

Driver open() {
  if (volkInitialize() != VK_SUCCESS) {
    throw DeviceError(
        fmt::format("vulkan: there is no Vulkan loader (libvulkan.so.1); install it (Debian and Ubuntu: "
                    "libvulkan1, Fedora: vulkan-loader) and {}",
                    kDriverHint));
  }
  Driver instance;
  // A device may be newer than the instance asks for; 1.3 is the newest that this code reads.
  const uint32_t version = std::min<uint32_t>(volkGetInstanceVersion(), VK_API_VERSION_1_3);
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = application.pEngineName = "neap";
  application.apiVersion = version;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;

  std::vector<const char*> extensions;
  if (contains(instance_extensions(nullptr), VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;  // MoltenVK is one of those
  }
  VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  const VkValidationFeatureEnableEXT synchronization = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  if (validation_wanted()) {
    const std::vector<std::string> offered = instance_extensions(kLayer);
    instance.validation = layer_installed() && contains(offered, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    if (!instance.validation) messages().add(fmt::format("{} is not installed", kLayer));
    if (instance.validation) {
      info.enabledLayerCount = 1;
      info.ppEnabledLayerNames = &kLayer;
      extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
      info.pNext = &messenger;
      if (contains(offered, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
        extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
        features.enabledValidationFeatureCount = 1;
        features.pEnabledValidationFeatures = &synchronization;
        messenger.pNext = &features;
      }
    }
  }
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  if (const VkResult result = vkCreateInstance(&info, nullptr, &instance.handle); result != VK_SUCCESS) {
    throw DeviceError(
        fmt::format("vulkan: the loader makes no instance: {}{}", result_name(result),
                    result == VK_ERROR_INCOMPATIBLE_DRIVER ? fmt::format("; install {}", kDriverHint) : ""));
  }
  volkLoadInstanceOnly(instance.handle);
  if (instance.validation) {
    messenger.pNext = nullptr;
    VkDebugUtilsMessengerEXT kept = VK_NULL_HANDLE;
    vkCreateDebugUtilsMessengerEXT(instance.handle, &messenger, nullptr, &kept);
  }

  uint32_t count = 0;
  std::vector<VkPhysicalDevice> handles;
  if (vkEnumeratePhysicalDevices(instance.handle, &count, nullptr) == VK_SUCCESS) {
    handles.resize(count);
    if (vkEnumeratePhysicalDevices(instance.handle, &count, handles.data()) < VK_SUCCESS) count = 0;
    handles.resize(count);
  }
  for (VkPhysicalDevice handle : handles) instance.devices.push_back(describe(handle, version));
  return instance;
}

}  // namespace

const Driver& driver() {
  static const auto* driver = new Driver(open());  // a throw leaves it unset: the next call tries again
  return *driver;
}

std::vector<const PhysicalDevice*> visible_devices() {
  const char* filter = std::getenv("NEAP_VULKAN_DEVICE");
  std::vector<const PhysicalDevice*> devices;
  for (const PhysicalDevice& device : driver().devices) {
    if (filter && ascii::to_lower(device.record.name).find(ascii::to_lower(filter)) == std::string::npos) continue;
    devices.push_back(&device);
  }
  return devices;
}

std::vector<std::string> Device::validation_messages() {
  std::lock_guard lock(messages().mutex);
  return messages().texts;
}

std::string result_name(VkResult result) {
  switch (result) {
#define NAME(x) \
  case x: return #x
    NAME(VK_SUCCESS);
    NAME(VK_NOT_READY);
    NAME(VK_TIMEOUT);
    NAME(VK_INCOMPLETE);
    NAME(VK_ERROR_OUT_OF_HOST_MEMORY);
    NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY);
    NAME(VK_ERROR_INITIALIZATION_FAILED);
    NAME(VK_ERROR_DEVICE_LOST);
    NAME(VK_ERROR_MEMORY_MAP_FAILED);
    NAME(VK_ERROR_LAYER_NOT_PRESENT);
    NAME(VK_ERROR_EXTENSION_NOT_PRESENT);
    NAME(VK_ERROR_FEATURE_NOT_PRESENT);
    NAME(VK_ERROR_INCOMPATIBLE_DRIVER);
    NAME(VK_ERROR_TOO_MANY_OBJECTS);
    NAME(VK_ERROR_UNKNOWN);
    NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE);
    NAME(VK_ERROR_FRAGMENTATION);
    NAME(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
    NAME(VK_ERROR_INVALID_SHADER_NV);
#undef NAME
    default: return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

}  // namespace neap::vk
