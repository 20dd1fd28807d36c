#include "jit/compile_ahead.h"

#include <exception>
#include <utility>

#include "core/thread_pool.h"
#include "jit/compile.h"

namespace neap::jit_detail {

CompileAhead::~CompileAhead() { stop(); }

void CompileAhead::stop() {
  const std::lock_guard lock(mutex_);
  thread_.request_stop();
  current_.request_stop();
}

void CompileAhead::begin(const planner::PlanData& plan) {
  if (num_threads() < 2) return;
  try {
    planner::PlanData own = plan;  // whole, or not at all
    const std::lock_guard lock(mutex_);
    next_ = std::move(own);
    current_.request_stop();
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& end) { run(end); });
  } catch (const std::exception&) {  // no memory, or no thread
  }
  changed_.notify_one();
}

void CompileAhead::run(const std::stop_token& end) {
  for (std::unique_lock lock(mutex_); changed_.wait(lock, end, [this] { return next_.has_value(); });) {
    if (end.stop_requested()) return;
    const planner::PlanData plan = *std::exchange(next_, std::nullopt);
    try {
      current_ = std::stop_source();
      const std::stop_token stop = current_.get_token();
      lock.unlock();
      compile_ahead_for(device_, plan, stop);
    } catch (...) {  // it will come again, where somebody waits for the code
    }
    if (!lock.owns_lock()) lock.lock();
  }
}

}  // namespace neap::jit_detail
