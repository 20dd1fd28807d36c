// NEAP_PROGRESS=1: what takes longer than a second tells on standard error how far it is. A terminal gets one line,
// drawn over and over and taken away at the end; anything else gets a line every few seconds, and one at the end.
// Unset, empty or 0: nothing, and no object of this class is made. Tested in tests/core/progress_test.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace neap {

bool read_progress_variable();

// Whether the variable asks for it; read once.
inline bool progress_on() {
  static const bool on = read_progress_variable();
  return on;
}

// Something that goes on from here to the end of this object's life. Objects of one thread lie within one another, and
// those that have lasted long enough are shown in one line, the outermost first; of several threads, one has the line.
class Progress {
 public:
  enum class Clock {
    none,   // it is drawn by those who say how far they are
    ticks,  // a thread draws it, as nobody says anything for long
  };
  // So many parts are to be done, of which one is a `unit`; 0: nobody knows how many.
  Progress(std::string what, std::string_view unit, int64_t parts, Clock clock = Clock::none);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // So many parts are done.
  void at(int64_t done) {
    done_.store(done, std::memory_order_relaxed);
    draw_now_and_then();
  }
  void add() { at(done_.load(std::memory_order_relaxed) + 1); }

  // The innermost of this thread; null where there is none.
  static Progress* current();

 private:
  using Time = std::chrono::steady_clock::time_point;
  class Ticker;

  void draw_now_and_then();
  std::string line(Time now) const;
  std::string part(Time now, bool estimate) const;

  const std::string what_;
  const std::string_view unit_;
  const int64_t parts_;
  const Time begin_;
  Progress* const outer_;
  Progress* const outermost_;
  std::atomic<int64_t> done_{0};
  std::unique_ptr<Ticker> ticker_;
};

// How long something lasts before it is shown. For tests, before the first object is made.
extern std::atomic<std::chrono::milliseconds> progress_delay;

}  // namespace neap
