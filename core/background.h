// A thread beside the one that computes, for what waits more than it works. Tested in tests/core/background_test.cpp.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace neap {

/// Background runs tasks one after the other on a thread of its own, which starts with the first. One thread begins
/// and ends them all.
class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Waits for all that has begun; what that throws is lost.
  ~Background();

  /// Begins a task, which runs when those before it are done. Throws what one before it threw.
  void begin(int task, std::function<void()> run);
  /// Waits until the task is done. Throws what it threw, or one before it: after that, none runs.
  void end(int task);
  /// Returns whether a task has begun and not been waited for.
  bool busy() const { return !open_.empty(); }
  /// Returns whether this task is one of those.
  bool busy(int task) const { return open_.contains(task); }

  /// Where the calling thread runs a task for which nobody waits yet: sleeps for so long, or until somebody does, and
  /// returns true. Else returns false at once.
  static bool rest(std::chrono::microseconds time);

 private:
  void run_all();

  std::set<int> open_;  // begun, and not ended: of the thread that begins them
  std::mutex mutex_;
  std::condition_variable begun_, done_, watch_;
  std::deque<std::pair<int, std::function<void()>>> tasks_;  // those not done
  std::exception_ptr failure_;
  bool stops_ = false;
  bool watched_ = false;  // somebody waits
  std::thread thread_;
};

}  // namespace neap
