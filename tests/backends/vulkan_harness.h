// Runs launches on the Vulkan device, as backends/kernel_eval.h does on the host.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/kernel.h"
#include "backends/vulkan/device.h"
#include "backends/vulkan/glsl.h"
#include "core/check.h"

namespace neap::vk::test {

/// The first device, or null; `why` says why there is none.
inline std::shared_ptr<Device> open_device(std::string* why = nullptr) {
  try {
    return Device::get(0);
  } catch (const DeviceError& e) {
    if (why) *why = e.what();
    return nullptr;
  }
}

#define NEAP_NEEDS_VULKAN()                                                                               \
  do {                                                                                                    \
    if (std::string why; !neap::vk::test::open_device(&why)) GTEST_SKIP() << "no Vulkan device: " << why; \
  } while (false)

class Runner {
 public:
  explicit Runner(std::shared_ptr<Device> device) : device(std::move(device)), choices(this->device->choices()) {}

  std::shared_ptr<Device> device;
  Choices choices;     // the device's, unless a test changes them
  size_t shift = 0;    // operands begin so many bytes behind a multiple of 64
  bool views = false;  // operands go through texel buffers where kernels can
  double seconds = 0;  // that the last run's dispatches took

  /// `operands`: the memory of the step's reads, writes and scratch; copied to the device and back.
  void operator()(std::span<const backends::Launch> launches, std::span<const std::span<std::byte>> operands) {
    constexpr size_t kGuard = 64;
    std::vector<size_t> offsets;
    size_t bytes = kGuard;
    for (const auto& operand : operands) {
      offsets.push_back(bytes + shift);
      bytes += (operand.size() + shift + 63) / 64 * 64 + kGuard;
    }
    const MemoryPtr memory = device->allocate(bytes, true, "test");
    std::memset(memory->mapped(), 0xEE, bytes);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].empty()) std::memcpy(memory->mapped() + offsets[i], operands[i].data(), operands[i].size());
    }

    std::vector<uint64_t> entries;
    struct Dispatch {
      const Pipeline* pipeline;
      uint32_t first, turn;
      std::array<uint32_t, 3> groups;
      std::vector<BoundView> views;
    };
    std::vector<Dispatch> dispatches;
    const auto add = [&](const Shader& shader, const std::vector<int>& used, const std::string& name) {
      Dispatch d{&device->pipeline(shader, name), static_cast<uint32_t>(entries.size()), 0, shader.groups, {}};
      for (const int i : used) entries.push_back(memory->address() + offsets.at(static_cast<size_t>(i)));
      for (const View& view : shader.views) {
        const auto i = static_cast<size_t>(used[static_cast<size_t>(view.operand)]);
        d.views.push_back({view, {memory.get(), offsets[i], operands[i].size()}});
        NEAP_CHECK(device->can_view(d.views.back().range), "no view of operand {}", i);
      }
      for (; d.turn < shader.dispatches; ++d.turn) dispatches.push_back(d);
    };
    for (const backends::Launch& launch : launches) {
      for (const int i : launch.zero_fill) {
        const size_t size = operands[static_cast<size_t>(i)].size();
        if (size > 0) add(fill_shader(size, choices), {i}, "fill");
      }
      const auto [rows, columns] = launch.kernel.extent;
      if (rows * columns == 0 && launch.kernel.kind != backends::Kernel::Kind::reduce) continue;
      std::vector<int> used = launch.operands;
      if (launch.part0_operand >= 0) used.push_back(launch.part0_operand);
      std::vector<Viewable> viewable;
      for (size_t i = 0; views && i < used.size(); ++i) {
        const auto is_i = [&](const auto& s) { return static_cast<size_t>(s.buffer) == i; };
        const backends::Kernel& k = launch.kernel;
        const bool written = i >= k.buffers.size() || k.buffers[i].written || std::ranges::any_of(k.scatters, is_i);
        viewable.push_back({operands[static_cast<size_t>(used[i])].size(), written});
      }
      add(emit(launch, choices, viewable), used, launch.kernel.name.empty() ? "test" : launch.kernel.name);
    }
    if (dispatches.empty()) return;
    const MemoryPtr table = device->allocate(std::max<size_t>(8 * entries.size(), 64), true, "test table");
    std::memcpy(table->mapped(), entries.data(), 8 * entries.size());

    const auto commands = device->record(2);
    commands->timestamp(0);
    for (const Dispatch& d : dispatches) {
      commands->dispatch(*d.pipeline, {table->address(), d.first, d.turn}, d.groups, d.views);
      commands->barrier();
    }
    commands->timestamp(1);
    commands->end();
    Commands* one[] = {commands.get()};
    device->wait(device->submit(one, {memory, table}));
    const auto times = commands->timestamps();
    if (times.size() == 2) seconds = times[1] - times[0];

    std::vector<bool> owned(bytes, false);
    for (size_t i = 0; i < operands.size(); ++i) {
      for (size_t b = 0; b < operands[i].size(); ++b) owned[offsets[i] + b] = true;
    }
    for (size_t b = 0; b < bytes; ++b) {
      NEAP_CHECK(owned[b] || memory->mapped()[b] == std::byte{0xEE}, "a write outside the operands");
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].empty()) std::memcpy(operands[i].data(), memory->mapped() + offsets[i], operands[i].size());
    }
  }
};

}  // namespace neap::vk::test
