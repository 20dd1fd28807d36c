#include "core/background.h"

#include <algorithm>
#include <system_error>

#include "core/check.h"
#include "core/os/os.h"

namespace neap {
namespace {
thread_local Background* mine = nullptr;  // whose thread this is
}  // namespace

Background::~Background() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = watched_ = true;
  }
  begun_.notify_one();
  watch_.notify_one();
  thread_.join();
}

void Background::begin(int task, std::function<void()> run) {
  NEAP_CHECK(open_.insert(task).second, "task {} has begun already", task);
  {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    tasks_.emplace_back(task, std::move(run));
  }
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run_all(); });
    } catch (const std::system_error&) {  // no thread is to be had: the task runs here
      const std::function<void()> now = std::move(tasks_.back().second);
      tasks_.clear();
      return now();
    }
  }
  begun_.notify_one();
}

void Background::end(int task) {
  NEAP_CHECK(open_.erase(task) == 1, "task {} has not begun", task);
  std::unique_lock lock(mutex_);
  watched_ = true;
  watch_.notify_one();
  done_.wait(lock,
             [&] { return failure_ || std::ranges::none_of(tasks_, [&](const auto& t) { return t.first == task; }); });
  watched_ = false;
  if (failure_) std::rethrow_exception(failure_);
}

bool Background::rest(std::chrono::microseconds time) {
  if (!mine) return false;
  std::unique_lock lock(mine->mutex_);
  if (mine->watched_) return false;
  mine->watch_.wait_for(lock, time, [] { return mine->watched_; });
  return true;
}

void Background::run_all() {
  mine = this;
  os::wake_on_time();
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return stops_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()>& run = tasks_.front().second;  // a deque's elements stay where they are
    lock.unlock();
    std::exception_ptr thrown;
    try {
      run();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    tasks_.pop_front();
    if (thrown) {
      failure_ = thrown;
      tasks_.clear();
    }
    done_.notify_one();
  }
}

}  // namespace neap
