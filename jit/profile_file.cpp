#include "jit/profile_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/file.h"
#include "core/json.h"
#include "core/os/os.h"

namespace neap::jit_detail {
namespace {

constexpr size_t kMost = 1'000'000;  // slices and counts of live bytes, some 50 MB here and three times that as a file

int this_thread() {
  static std::atomic<int> threads{0};
  thread_local const int number = ++threads;
  return number;
}

void complain(const std::exception& error) {
  std::fputs(fmt::format("neap: NEAP_PROFILE: {}\n", error.what()).c_str(), stderr);
}

class ProfileFile {
 public:
  static ProfileFile& instance() {
    static ProfileFile& file = *new ProfileFile;  // never destroyed: a call may come from the destructor of a static
    return file;
  }

  bool on() const { return on_.load(std::memory_order_relaxed); }

  void add(std::string_view program, std::string_view name, std::string_view strategy, double begin, double end,
           size_t live, bool counts) {
    const int thread = this_thread();
    const std::lock_guard lock(mutex_);
    if (events_.size() >= kMost) {
      ++left_out_;
      return;
    }
    events_.push_back({begin, end, live, number(program), number(name), number(strategy), thread, counts});
  }

 private:
  struct Event {
    double begin, end;
    size_t live;
    int program, name, strategy;  // in names_
    int thread;
    bool counts;  // whether `live` is known
  };

  ProfileFile() : process_(os::process()) {
    const char* name = std::getenv("NEAP_PROFILE");
    if (!name || !*name) return;
    try {
      path_ = std::filesystem::absolute(name);  // the program may go to another folder
      if (!std::filesystem::is_other(std::filesystem::status(path_))) const AtomicFile probe(path_);
      on_ = std::atexit([] { instance().finish(); }) == 0;
    } catch (const std::exception& error) {
      complain(error);
    }
  }

  int number(std::string_view name) {
    const auto [at, fresh] = numbers_.try_emplace(std::string(name), static_cast<int>(names_.size()));
    if (fresh) names_.push_back(&at->first);
    return at->second;
  }

  // What destructors of static objects run after this is not in the file. A child of fork() leaves it to its parent.
  void finish() {
    on_ = false;
    if (process_ != os::process()) return;
    const std::lock_guard lock(mutex_);
    try {
      write_file_atomic(path_, text());
    } catch (const std::exception& error) {
      complain(error);
    }
  }

  std::string text() const {
    JsonWriter out;
    out.begin_object().member("displayTimeUnit", "ms").key("otherData").begin_object();
    out.member("slices_left_out", left_out_).end_object().key("traceEvents").begin_array();
    double start = events_.empty() ? 0 : events_.front().begin;
    for (const Event& e : events_) start = std::min(start, e.begin);
    for (const Event& e : events_) {
      if (!names_[e.name]->empty())
        write_slice(out, {*names_[e.program], *names_[e.name], *names_[e.strategy], e.begin - start, e.end - start,
                          e.live, e.thread});
      if (e.counts) write_live_bytes(out, e.begin - start, e.live, e.thread);
    }
    out.end_array().end_object();
    return out.take();
  }

  const long process_;
  std::filesystem::path path_;
  std::atomic<bool> on_{false};
  std::mutex mutex_;
  std::vector<Event> events_;
  std::unordered_map<std::string, int> numbers_;
  std::vector<const std::string*> names_;
  size_t left_out_ = 0;
};

}  // namespace

bool profile_file_on() { return ProfileFile::instance().on(); }

void note_in_profile_file(std::string_view program, std::string_view what, double begin, double end) {
  ProfileFile::instance().add(program, what, what, begin, end, 0, false);
}

void note_in_profile_file(std::string_view program, const planner::PlanData& plan,
                          std::span<const backends::StepTiming> timings) {
  for (const backends::StepTiming& t : timings) {
    const planner::PlanStep& step = plan.steps[static_cast<size_t>(t.step)];
    ProfileFile::instance().add(program, step.op, name(step.strategy), t.begin, t.end, step.bytes_live, true);
  }
  // Between runs the counter is at nothing.
  if (!timings.empty()) {
    const double end = timings.back().end;
    ProfileFile::instance().add(program, "", "", end, end, 0, true);
  }
}

void write_slice(JsonWriter& out, const TraceSlice& slice) {
  out.begin_object().key("args").begin_object();
  if (slice.live_bytes > 0) out.member("live bytes", slice.live_bytes);
  out.member("plan", slice.program);
  out.member("strategy", slice.strategy).end_object().member("cat", slice.strategy);
  out.member("dur", (slice.end - slice.begin) * 1e6).member("name", slice.name).member("ph", "X").member("pid", 1);
  out.member("tid", slice.thread).member("ts", slice.begin * 1e6).end_object();
}

void write_live_bytes(JsonWriter& out, double at, size_t bytes, int thread) {
  out.begin_object().key("args").begin_object().member("bytes", bytes).end_object();
  out.member("name", thread == 0 ? std::string("live bytes") : fmt::format("live bytes, thread {}", thread))
      .member("ph", "C")
      .member("pid", 1)
      .member("ts", at * 1e6)
      .end_object();
}

}  // namespace neap::jit_detail
