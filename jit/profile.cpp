#include "jit/profile.h"

#include <neap/error.h>
#include <neap/profile.h>

#include <mutex>
#include <system_error>

#include "core/file.h"
#include "core/json.h"
#include "jit/profile_file.h"

namespace neap {
namespace {

std::mutex mutex;

// Never destroyed: a profiled function may run in the destructor of a static object.
std::vector<Profile::Slice>& recorded() {
  static auto& slices = *new std::vector<Profile::Slice>;
  return slices;
}

}  // namespace

namespace jit_detail {

std::atomic<bool> profiling{false};

void record(const planner::PlanData& plan, std::span<const backends::StepTiming> timings) {
  const std::lock_guard lock(mutex);
  for (const backends::StepTiming& t : timings) {
    const planner::PlanStep& step = plan.steps[t.step];
    recorded().push_back({plan.name, step.op, std::string(name(step.strategy)), t.begin, t.end, step.bytes_live});
  }
}

}  // namespace jit_detail

Profile::Profile(std::source_location loc) {
  if (jit_detail::profiling.exchange(true))
    throw_user<UserError>("Profile", "one is recording already", "one at a time", "end its life before making another",
                          loc);
  const std::lock_guard lock(mutex);
  recorded().clear();
}

Profile::~Profile() { jit_detail::profiling = false; }

std::vector<Profile::Slice> Profile::slices() const {
  const std::lock_guard lock(mutex);
  return recorded();
}

void Profile::write_json(const std::filesystem::path& path, std::source_location loc) const {
  JsonWriter out;
  out.begin_object().member("displayTimeUnit", "ms").key("traceEvents").begin_array();
  for (const Slice& s : slices()) {
    jit_detail::write_slice(out, {s.plan, s.op, s.strategy, s.begin, s.end, s.live_bytes});
    jit_detail::write_live_bytes(out, s.begin, s.live_bytes);
  }
  out.end_array().end_object();
  try {
    write_file_atomic(path, out.take());
  } catch (const std::system_error& error) {
    throw_user<UserError>("write_json", error.what(), "", "", loc);
  }
}

}  // namespace neap
