// A trace of a measured run for Perfetto (ui.perfetto.dev): its phases and the plan's steps as slices (on a
// Vulkan device by the device's clock), live bytes of the device's memory and resident bytes as counters.
#pragma once

#include <neap/device.h>
#include <neap/profile.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace bench {

class Trace {
 public:
  // While on, a thread samples the counters every millisecond.
  Trace(bool on, neap::Device device);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // A slice from here to the end of the returned object's life.
  std::shared_ptr<void> slice(const std::string& name);
  // Chrome's trace-event JSON, whole or not at all.
  void write(const std::string& path);

 private:
  double microseconds() const;
  void sample();

  bool on_;
  neap::Device device_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  nlohmann::json events_ = nlohmann::json::array();
  std::unique_ptr<neap::Profile> profile_;
  std::jthread sampler_;
};

}  // namespace bench
