// A trace of a measured run for Perfetto (ui.perfetto.dev): its phases and the plan's
// steps as slices, live and resident bytes as counters.
#pragma once

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
  explicit Trace(bool on);
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
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  nlohmann::json events_ = nlohmann::json::array();
  std::unique_ptr<neap::Profile> profile_;
  std::jthread sampler_;
};

}  // namespace bench
