#include "core/team.h"

#include <algorithm>
#include <thread>

namespace neap {

namespace {

using namespace std::chrono_literals;

constexpr auto kStay = 100us;         // after a loop; a program's next call is often nearer than that
constexpr int64_t kFewBlocks = 8;     // that one thread has done before another has woken up
constexpr int64_t kManyRecent = 16;   // blocks of short loops that come together: more will
constexpr int64_t kPartsOfShare = 8;  // so that who is late, or slow, is helped out
constexpr int kSpins = 64;            // between two looks at the clock
constexpr int kPatience = 2000;       // spins before a thread lets others run

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace

void Team::Loop::work(int seat) {
  const auto visit = [&](int64_t begin, int64_t end) {
    if (failed.load(std::memory_order_relaxed)) return;
    try {
      body(begin, end);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  };
  shares.take(seat, part, visit);
}

bool Team::run(int64_t blocks, Body body, FunctionRef<int(int)> call) {
  if (elsewhere_.load(std::memory_order_relaxed) > 0 || busy_.exchange(true, std::memory_order_acquire)) return false;
  const int shares = static_cast<int>(std::min<int64_t>({blocks, std::ssize(seats_), Shares::kMost}));
  Loop loop{body, Shares(blocks, shares), std::max<int64_t>(1, blocks / (shares * kPartsOfShare))};
  loop_ = &loop;
  state_.fetch_add(kInside);
  call_missing(static_cast<int>(std::min<int64_t>(blocks, std::ssize(seats_))) - 1, call);
  loop.work(0);
  state_.fetch_add(kInside);
  for (int spins = 0; state_.load() % kInside > 0; ++spins) spins < kPatience ? pause() : std::this_thread::yield();
  busy_.store(false, std::memory_order_release);
  if (loop.error) std::rethrow_exception(loop.error);
  return true;
}

int Team::sit_down() {
  for (size_t i = 1; i < seats_.size(); ++i) {
    if (!seats_[i].load(std::memory_order_relaxed) && !seats_[i].exchange(true)) return static_cast<int>(i);
  }
  return -1;
}

// Takes part in the loop that is open, if it is not `last`.
bool Team::join(int seat, uint64_t& last) {
  uint64_t state = state_.load();
  do {
    if (state / kInside % 2 == 0 || state / kInside == last) return false;
  } while (!state_.compare_exchange_weak(state, state + 1));
  last = state / kInside;
  loop_->work(seat);
  state_.fetch_sub(1);
  return true;
}

void Team::help() {
  const int seat = sit_down();
  uint64_t last = 0;
  auto end = Clock::now() + kStay;
  for (int spins = 1; seat > 0; ++spins) {
    if (join(seat, last)) {
      end = Clock::now() + kStay;
    } else if (elsewhere_.load(std::memory_order_relaxed) > 0 || (spins % kSpins == 0 && Clock::now() > end)) {
      break;
    } else {
      pause();
    }
  }
  present_.fetch_sub(1);
  if (seat < 0) return;
  join(seat, last);  // one that was opened by who still counted on this thread
  seats_[static_cast<size_t>(seat)].store(false);
}

// After the loop was opened: who leaves meanwhile looks for it once more.
void Team::call_missing(int wanted, FunctionRef<int(int)> call) {
  const int present = present_.load();
  if (present >= wanted) return;
  present_.fetch_add(wanted - present);
  present_.fetch_sub(wanted - present - call(wanted - present));
}

bool Team::is_worth_calling(int64_t blocks) {
  if (blocks >= kFewBlocks) return true;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  const Clock::rep before = last_.exchange(now, std::memory_order_relaxed);
  const bool together = now - before < Clock::duration(kStay).count();
  if (!together) recent_.store(0, std::memory_order_relaxed);
  return recent_.fetch_add(blocks, std::memory_order_relaxed) + blocks >= kManyRecent;
}

}  // namespace neap
