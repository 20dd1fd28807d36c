#include "jit/profile.h"

#include <neap/error.h>
#include <neap/profile.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "core/file.h"

namespace neap {
namespace {

std::mutex mutex;
std::vector<Profile::Slice> recorded;

}  // namespace

namespace jit_detail {

std::atomic<bool> profiling{false};

void record(const planner::PlanData& plan, std::span<const backends::StepTiming> timings) {
  const std::lock_guard lock(mutex);
  for (const backends::StepTiming& t : timings) {
    const planner::PlanStep& step = plan.steps[t.step];
    recorded.push_back({plan.name, step.op, step.strategy, t.begin, t.end, step.bytes_live});
  }
}

}  // namespace jit_detail

Profile::Profile() {
  if (jit_detail::profiling.exchange(true))
    throw UserError("Profile: one is recording already; end its life before making another");
  const std::lock_guard lock(mutex);
  recorded.clear();
}

Profile::~Profile() { jit_detail::profiling = false; }

std::vector<Profile::Slice> Profile::slices() const {
  const std::lock_guard lock(mutex);
  return recorded;
}

void Profile::write_json(const std::filesystem::path& path) const {
  nlohmann::json events = nlohmann::json::array();
  const auto counter = [&](double seconds, size_t bytes) {
    events.push_back(
        {{"name", "live bytes"}, {"ph", "C"}, {"ts", seconds * 1e6}, {"pid", 1}, {"args", {{"bytes", bytes}}}});
  };
  for (const Slice& s : slices()) {
    events.push_back({{"name", s.op},
                      {"cat", s.strategy},
                      {"ph", "X"},
                      {"ts", s.begin * 1e6},
                      {"dur", (s.end - s.begin) * 1e6},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"plan", s.plan}, {"strategy", s.strategy}, {"live bytes", s.live_bytes}}}});
    counter(s.begin, s.live_bytes);
  }
  write_file_atomic(path, nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump());
}

}  // namespace neap
