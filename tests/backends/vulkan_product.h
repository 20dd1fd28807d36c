// Matrix products on the Vulkan device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "backends/vulkan/device.h"
#include "backends/vulkan/glsl.h"

namespace neap::vk::test {

/// The product by the shader; lhs and rhs as DotForm says, `initial` what out holds before. Nothing is written behind
/// it.
template <class T>
std::vector<T> run_product(Device& device, const Shader& shader, const planner::DotForm& f, const std::vector<T>& lhs,
                           const std::vector<T>& rhs, T initial = T(77)) {
  constexpr size_t kBehind = 256 / sizeof(T);
  const Pipeline& pipeline = device.pipeline(shader, "matmul");
  const auto upload = [&](const auto& elements) {
    const auto bytes = std::as_bytes(std::span(elements));
    MemoryPtr memory = device.allocate(std::max<size_t>(bytes.size(), 64), true, "test");
    std::ranges::copy(bytes, memory->mapped());
    return memory;
  };
  const auto elements = static_cast<size_t>(f.batch * f.m * f.n);
  std::vector<T> out(elements + kBehind, T(77));
  std::fill_n(out.begin(), elements, initial);
  const MemoryPtr l = upload(lhs), r = upload(rhs), o = upload(out);
  const uint64_t addresses[] = {0, l->address(), r->address(), o->address()};
  const MemoryPtr table = upload(addresses);
  const std::unique_ptr<Commands> commands = device.record(0);
  commands->dispatch(pipeline, {table->address(), 1, 0}, shader.groups);
  commands->end();
  Commands* const all[] = {commands.get()};
  device.wait(device.submit(all, {l, r, o, table}));
  std::memcpy(out.data(), o->mapped(), out.size() * sizeof(T));
  for (size_t i = elements; i < out.size(); ++i) EXPECT_EQ(out[i], T(77));
  out.resize(elements);
  return out;
}

}  // namespace neap::vk::test
