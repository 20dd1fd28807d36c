// While planning searches for a better plan, the kernels of the one that it has found so far are compiled: most of them
// are in the better one too, or there is none. Tested in tests/jit/compile_ahead_test.cpp.
#pragma once

#include <neap/device.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "planner/plan/plan.h"

namespace neap::jit_detail {

/// Compiles on a thread of its own, which ends with this object, after the kernel that it is at, or soon after stop().
/// None is started where loops have one thread (set_num_threads).
class CompileAhead {
 public:
  explicit CompileAhead(const Device& device) : device_(device) {}
  ~CompileAhead();
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;

  /// Goes on with this plan, after the kernel of another that it may be at. A failure, also of that, is left to those
  /// who compile the plan (but what can be begun once in a process, as LLVM's start, is begun here).
  void begin(const planner::PlanData& plan);
  /// Begins nothing more. The kernel that it is at is made beside what others compile.
  void stop();

 private:
  void run(const std::stop_token& end);

  const Device device_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<planner::PlanData> next_;
  std::stop_source current_;  // of the plan that is compiled
  std::jthread thread_;       // the last member: it uses the others
};

}  // namespace neap::jit_detail
