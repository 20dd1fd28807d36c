#include "backends/vulkan/commands.h"

#include <cmath>
#include <limits>

#include "backends/vulkan/device_impl.h"
#include "core/check.h"

namespace neap::vk {

namespace {
constexpr VkPipelineStageFlags kWork = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kAll = kWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;
}  // namespace

// Delegates, so that the destructor runs when the body throws.
Recorded::Recorded(DeviceImpl& device, int slots) : Recorded(device) {
  timestamps = slots;
  VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  info.queueFamilyIndex = device.physical().queue_family;
  device.check(device.call().vkCreateCommandPool(device.handle(), &info, nullptr, &pool), "a command pool");
  VkCommandBufferAllocateInfo one{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  one.commandPool = pool;
  one.commandBufferCount = 1;
  device.check(device.call().vkAllocateCommandBuffers(device.handle(), &one, &buffer), "a command buffer");
  if (timestamps > 0 && device.physical().timestamp_bits != 0) {
    VkQueryPoolCreateInfo query{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    query.queryType = VK_QUERY_TYPE_TIMESTAMP;
    query.queryCount = static_cast<uint32_t>(timestamps);
    device.check(device.call().vkCreateQueryPool(device.handle(), &query, nullptr, &queries), "a query pool");
  }
}

Recorded::~Recorded() {
  if (!device.may_destroy()) return;
  if (queries) device.call().vkDestroyQueryPool(device.handle(), queries, nullptr);
  if (pool) device.call().vkDestroyCommandPool(device.handle(), pool, nullptr);
  for (VkDescriptorPool set : sets) device.call().vkDestroyDescriptorPool(device.handle(), set, nullptr);
  for (VkBufferView view : views) device.call().vkDestroyBufferView(device.handle(), view, nullptr);
}

void Recorded::begin(VkCommandBufferUsageFlags flags) {
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = flags;
  device.check(device.call().vkBeginCommandBuffer(buffer, &info), "vkBeginCommandBuffer");
  if (queries) device.call().vkCmdResetQueryPool(buffer, queries, 0, static_cast<uint32_t>(timestamps));
}

void Recorded::barrier(VkPipelineStageFlags after_stages, VkAccessFlags after_access) {
  VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = kWrites;
  memory.dstAccessMask = kAll | after_access;
  device.call().vkCmdPipelineBarrier(buffer, kWork, kWork | after_stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void Recorded::end() { device.check(device.call().vkEndCommandBuffer(buffer), "vkEndCommandBuffer"); }

CommandsImpl::CommandsImpl(std::shared_ptr<DeviceImpl> device, int timestamps)
    : device_(std::move(device)), recorded_(std::make_shared<Recorded>(*device_, timestamps)) {
  recorded_->begin(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
}

void CommandsImpl::dispatch(const Pipeline& pipeline, const Push& push, const std::array<uint32_t, 3>& groups,
                            std::span<const BoundView> views) {
  const auto& limits = device_->record().max_workgroup_count;
  for (int i = 0; i < 3; ++i) {
    NEAP_CHECK(groups[i] > 0 && groups[i] <= limits[i], "{} workgroups along {}; at most {}", groups[i], i, limits[i]);
  }
  const VolkDeviceTable& call = device_->call();
  if (bound_ != &pipeline) {
    call.vkCmdBindPipeline(recorded_->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    bound_ = &pipeline;
    if (pipeline.fresh) recorded_->fresh.push_back(&pipeline);
  }
  if (!views.empty()) bind(pipeline, views);
  call.vkCmdPushConstants(recorded_->buffer, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
  call.vkCmdDispatch(recorded_->buffer, groups[0], groups[1], groups[2]);
}

// A set of its own for each dispatch; few have any.
void CommandsImpl::bind(const Pipeline& pipeline, std::span<const BoundView> views) {
  const VolkDeviceTable& call = device_->call();
  VkDevice device = device_->handle();
  const auto count = static_cast<uint32_t>(views.size());
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, count},
                                        {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, count}};
  VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = 1;
  pool.poolSizeCount = 2;
  pool.pPoolSizes = sizes;
  VkDescriptorPool& own = recorded_->sets.emplace_back(VK_NULL_HANDLE);
  device_->check(call.vkCreateDescriptorPool(device, &pool, nullptr, &own), "a descriptor pool");
  VkDescriptorSetAllocateInfo one{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  one.descriptorPool = own;
  one.descriptorSetCount = 1;
  one.pSetLayouts = &pipeline.set;
  VkDescriptorSet set = VK_NULL_HANDLE;
  device_->check(call.vkAllocateDescriptorSets(device, &one, &set), "a descriptor set");
  for (uint32_t i = 0; i < count; ++i) {
    const auto& [view, range] = views[i];
    const Location location = device_->memory().locate(range);
    const uint64_t texel = 4 * static_cast<uint64_t>(view.words);
    VkBufferViewCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
    info.buffer = location.buffer;
    info.format = view.words == 4   ? VK_FORMAT_R32G32B32A32_UINT
                  : view.words == 2 ? VK_FORMAT_R32G32_UINT
                                    : VK_FORMAT_R32_UINT;
    info.offset = location.offset;
    info.range = (range.bytes + texel - 1) / texel * texel;  // blocks end at a multiple of more
    VkBufferView& made = recorded_->views.emplace_back(VK_NULL_HANDLE);
    device_->check(call.vkCreateBufferView(device, &info, nullptr, &made), "a buffer view");
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = descriptor_type(view);
    write.pTexelBufferView = &made;
    call.vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
  }
  call.vkCmdBindDescriptorSets(recorded_->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0,
                               nullptr);
}

void CommandsImpl::copy(const Memory& from, const Memory& to, size_t bytes) {
  NEAP_CHECK(bytes <= from.bytes() && bytes <= to.bytes(), "{} bytes from {} to {}", bytes, from.bytes(), to.bytes());
  const Location source = device_->memory().find(from.address()), target = device_->memory().find(to.address());
  const VkBufferCopy region{source.offset, target.offset, bytes};
  device_->call().vkCmdCopyBuffer(recorded_->buffer, source.buffer, target.buffer, 1, &region);
}

void CommandsImpl::barrier() { recorded_->barrier(0, 0); }

void CommandsImpl::timestamp(int slot) {
  NEAP_CHECK(slot >= 0 && slot < recorded_->timestamps, "slot {}", slot);
  if (!recorded_->queries) return;
  device_->call().vkCmdWriteTimestamp(recorded_->buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, recorded_->queries,
                                      static_cast<uint32_t>(slot));
}

void CommandsImpl::end() { recorded_->end(); }

std::vector<double> CommandsImpl::timestamps() const {
  const auto n = static_cast<size_t>(recorded_->timestamps);
  std::vector<double> seconds(n, std::numeric_limits<double>::quiet_NaN());
  if (!recorded_->queries) return seconds;
  struct Result {
    uint64_t ticks, available;
  };
  std::vector<Result> results(n);
  const VkResult result = device_->call().vkGetQueryPoolResults(
      device_->handle(), recorded_->queries, 0, static_cast<uint32_t>(n), n * sizeof(Result), results.data(),
      sizeof(Result), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
  if (result != VK_NOT_READY) device_->check(result, "vkGetQueryPoolResults");
  const uint32_t bits = device_->physical().timestamp_bits;
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const double period = device_->record().timestamp_period * 1e-9;
  for (size_t i = 0; i < n; ++i) {
    if (results[i].available) seconds[i] = static_cast<double>(results[i].ticks & mask) * period;
  }
  return seconds;
}

}  // namespace neap::vk
