#include "bench/device_copy.h"

#ifdef NEAP_VULKAN

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "backends/vulkan/device.h"

namespace bench {
namespace {

constexpr size_t kBytes = size_t{1} << 30;
constexpr int kTogether = 8;   // copies of a submission
constexpr double kWarm = 0.5;  // seconds: a GPU that had nothing to do takes some time to reach its clock

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The least time of what `put` records, of some in a row, by the device's own clock where its queue has one.
template <class Put>
double seconds_of(neap::vk::Device& device, Put put) {
  const auto commands = device.record(2);
  commands->timestamp(0);
  for (int i = 0; i < kTogether; ++i) {
    put(*commands);
    commands->barrier();
  }
  commands->timestamp(1);
  commands->end();
  neap::vk::Commands* const once[] = {commands.get()};
  double least = INFINITY;
  for (const double start = now(); least == INFINITY || now() - start < kWarm;) {
    const double begin = now();
    device.wait(device.submit(once, {}));
    const double wall = now() - begin;
    const std::vector<double> times = commands->timestamps();
    const double on_device = times[1] - times[0];
    least = std::min(least, (std::isfinite(on_device) && on_device > 0 ? on_device : wall) / kTogether);
  }
  return least;
}

}  // namespace

double device_copy_rate(neap::Device device) {
  const auto opened = neap::vk::Device::get(device.index);
  const size_t bytes = std::min(kBytes, opened->available() / 8 / 64 * 64);
  const auto from = opened->allocate(bytes, false, "copy, from"), to = opened->allocate(bytes, false, "copy, to");
  const uint64_t addresses[] = {from->address(), to->address()};
  const auto table = opened->allocate(sizeof addresses, true, "copy, addresses");
  std::memcpy(table->mapped(), addresses, sizeof addresses);
  const auto run = [&](const neap::vk::Shader& shader, const char* name) {
    const auto& pipeline = opened->pipeline(shader, name);
    return seconds_of(*opened,
                      [&](neap::vk::Commands& c) { c.dispatch(pipeline, {table->address(), 0, 0}, shader.groups); });
  };
  run(neap::vk::fill_shader(bytes, opened->choices()), "fill");  // pages of zeros that nobody wrote are read for free
  const double by_kernel = run(neap::vk::copy_shader(bytes, opened->choices()), "copy");
  const double by_driver = seconds_of(*opened, [&](neap::vk::Commands& c) { c.copy(*from, *to, bytes); });
  return 2 * static_cast<double>(bytes) / std::min(by_kernel, by_driver);
}

}  // namespace bench

#else

namespace bench {

double device_copy_rate(neap::Device) { return 0; }

}  // namespace bench

#endif
