#include "bench/trace.h"

#include <neap/memory.h>

#include "bench/report_html.h"

namespace bench {

Trace::Trace(bool on, neap::Device device) : on_(on), device_(device) {
  if (!on_) return;
  profile_ = std::make_unique<neap::Profile>();
  sampler_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      sample();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

Trace::~Trace() = default;

double Trace::microseconds() const {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
}

void Trace::sample() {
  const double at = microseconds();
  const size_t live = neap::memory::live_bytes(device_), resident = neap::memory::resident_bytes();
  const std::lock_guard lock(mutex_);
  events_.push_back({{"name", "live bytes"}, {"ph", "C"}, {"ts", at}, {"pid", 1}, {"args", {{"bytes", live}}}});
  events_.push_back({{"name", "resident bytes"}, {"ph", "C"}, {"ts", at}, {"pid", 1}, {"args", {{"bytes", resident}}}});
}

std::shared_ptr<void> Trace::slice(const std::string& name) {
  if (!on_) return nullptr;
  sample();
  const double begin = microseconds();
  return {nullptr, [this, name, begin](void*) {
            sample();
            const std::lock_guard lock(mutex_);
            events_.push_back(
                {{"name", name}, {"ph", "X"}, {"ts", begin}, {"dur", microseconds() - begin}, {"pid", 1}, {"tid", 1}});
          }};
}

void Trace::write(const std::string& path) {
  sampler_ = {};  // stops and joins
  const std::lock_guard lock(mutex_);
  const double start = std::chrono::duration<double>(start_.time_since_epoch()).count();
  for (const neap::Profile::Slice& s : profile_->slices()) {
    events_.push_back({{"name", s.op},
                       {"cat", s.strategy},
                       {"ph", "X"},
                       {"ts", (s.begin - start) * 1e6},
                       {"dur", (s.end - s.begin) * 1e6},
                       {"pid", 1},
                       {"tid", 2},
                       {"args", {{"plan", s.plan}, {"planned live bytes", s.live_bytes}}}});
  }
  write_file(path, nlohmann::json{{"traceEvents", events_}, {"displayTimeUnit", "ms"}}.dump());
}

}  // namespace bench
