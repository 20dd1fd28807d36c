// Loops of a few microseconds. oneTBB tells its threads of a loop in 4 microseconds while they look for work, and in 14
// once they sleep (two cores of Zen 4); so threads of its arena stay in a team for a while after a loop and wait for
// the next one where they see it at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <vector>

#include "core/function_ref.h"
#include "core/shares.h"

namespace neap {

class Team {
 public:
  using Body = FunctionRef<void(int64_t begin, int64_t end)>;

  // A team of so many threads: who calls run() and others, who call help().
  explicit Team(int threads) : seats_(static_cast<size_t>(threads)) {}

  // Calls body on parts of [0, blocks) on the caller's thread and on those that help, and returns true; or does nothing
  // and returns false where the team is at another loop, or needed elsewhere. An exception of the body ends the loop
  // early and is thrown. So many threads as call() is told shall call help(); it returns how many will.
  bool run(int64_t blocks, Body body, FunctionRef<int(int)> call);

  // Takes part in loops, until none has come for a while or somebody needs the thread elsewhere.
  void help();

  // Whether a loop of so many blocks, each worth some microseconds, is worth a call for help where nobody is there. Of
  // short ones it is once several came close together.
  bool is_worth_calling(int64_t blocks);
  bool has_help() const { return present_.load(std::memory_order_relaxed) > 0; }

  // While somebody holds this, threads that have nothing to do leave.
  class Elsewhere {
   public:
    explicit Elsewhere(Team& team) : team_(team) { ++team_.elsewhere_; }
    ~Elsewhere() { --team_.elsewhere_; }
    Elsewhere(const Elsewhere&) = delete;
    Elsewhere& operator=(const Elsewhere&) = delete;

   private:
    Team& team_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  struct Loop {
    Body body;
    Shares shares;
    int64_t part;
    std::atomic<bool> failed = false;
    std::exception_ptr error;  // of who failed first

    void work(int seat);
  };

  int sit_down();
  bool join(int seat, uint64_t& last);
  void call_missing(int wanted, FunctionRef<int(int)> call);

  // How often a loop was opened and closed, so that it is odd while one is open, above kInside, and below how many
  // threads are in it. Who helps counts itself in while the loop is open; who closes it waits for those that are in.
  static constexpr uint64_t kInside = uint64_t{1} << 16;
  alignas(64) std::atomic<uint64_t> state_ = 0;
  Loop* loop_ = nullptr;
  std::atomic<int> elsewhere_ = 0;
  alignas(64) std::atomic<bool> busy_ = false;
  std::atomic<int> present_ = 0;
  std::atomic<int64_t> recent_ = 0;  // blocks of short loops
  std::atomic<Clock::rep> last_ = 0;
  // Who sits where begins with that share of every loop, which may lie in its core's cache; the first is the caller's.
  std::vector<std::atomic<bool>> seats_;
};

}  // namespace neap
