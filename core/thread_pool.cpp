#include "core/thread_pool.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/sanitize.h"
#include "core/team.h"

// Half of oneTBB is templates, the other half a library that is not instrumented: of the accesses to its tasks the
// thread sanitizer would see some, without what orders them.
#ifdef NEAP_TSAN
#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)
#endif
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#ifdef NEAP_TSAN
#pragma clang attribute pop
#endif

namespace neap {

namespace {

// Handed is a function as oneTBB copies it into what it hands to other threads. The thread sanitizer is told of every
// copy and of its end (its memory serves the next one).
template <class F>
class Handed {
 public:
  explicit Handed(const F& function) : function_(function) { sanitize::release(this); }
  Handed(const Handed& other) : function_(copied(other).function_) { sanitize::release(this); }
  ~Handed() { sanitize::release(this); }
  Handed& operator=(const Handed&) = delete;

  template <class... A>
  void operator()(const A&... arguments) const {
    sanitize::acquire(this);
    function_(arguments...);
  }

 private:
  const Handed& copied(const Handed& other) const {
    sanitize::acquire(this);
    sanitize::acquire(&other);
    return other;
  }

  F function_;
};

// Who helps leaves a team a while after its pool has gone, so that teams stay: one for each number of threads.
Team& team_of(int threads) {
  static std::mutex mutex;
  static auto& teams = *new std::map<int, std::unique_ptr<Team>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Team>& team = teams[threads];
  if (!team) team = std::make_unique<Team>(threads);
  return *team;
}

struct Pool {
  explicit Pool(int n) : threads(n), arena(n), team(team_of(n)) {}

  // The arena would start by itself, but where memory runs out meanwhile, who comes next waits for that for ever. So
  // would who comes after the first start of all, if that failed: it is not tried again, and this returns false.
  bool start() {
    if (arena.is_active()) return true;
    static std::mutex mutex;
    static bool begun = false, works = false;
    const std::lock_guard lock(mutex);
    if (begun && !works) return false;
    begun = true;
    if (!arena.is_active()) arena.initialize(threads);
    works = true;
    return true;
  }

  // Calls so many threads of the arena into the team, and returns how many will come.
  int call(int count) {
    for (int i = 0; i < count; ++i) {
      try {
        arena.enqueue(Handed([to = &team] { to->help(); }));
      } catch (...) {  // of memory
        return i;      // who is there goes on alone
      }
    }
    return count;
  }

  int threads;
  tbb::task_arena arena;
  Team& team;
};

int initial_threads() {
  if (const char* text = std::getenv("NEAP_NUM_THREADS"); text && *text) {
    int n = 0;
    const char* last = text + std::strlen(text);
    const auto parsed = std::from_chars(text, last, n);
    if (parsed.ec == std::errc() && parsed.ptr == last && n >= 1 && n <= kMostThreads) return n;
    throw OptionError(
        fmt::format("NEAP_NUM_THREADS: got \"{}\"; expected a number of threads from 1 to {}", text, kMostThreads));
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
}

// Current holds the pool for new loops. A pool lives for as long as a loop runs on it or it is the current one.
class Current {
 public:
  std::shared_ptr<Pool> get() {
    const std::lock_guard lock(mutex_);
    return pool_;
  }
  void set(std::shared_ptr<Pool> pool) {  // the old one dies with the argument, unlocked
    const std::lock_guard lock(mutex_);
    pool_.swap(pool);
  }

 private:
  // TBB starts no more threads than the hardware has unless told to. One control for all pools, never changed: the
  // least of several holds, and TBB warns on standard error of a pool that needs more.
  const tbb::global_control control_{tbb::global_control::max_allowed_parallelism,
                                     std::max<size_t>(kMostThreads, std::thread::hardware_concurrency())};
  // Not an atomic shared_ptr: libstdc++ 12's releases its lock without release order, a data race by the letter.
  std::mutex mutex_;
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>(initial_threads());
};

// The pool is never destroyed: a loop may run in the destructor of a static object.
Current& pool() {
  static Current& instance = *new Current;
  return instance;
}

using Body = FunctionRef<void(int64_t, int64_t)>;

// What the team has no time for: a loop within a loop, and those of several threads at once. It is isolated: a thread
// that waits for an inner loop takes no work of an outer one, so thread-local scratch is safe. It may wait for a place
// in the arena until another thread's loop is done, so that no body holds a lock across a loop.
template <class Partitioner>
void run_apart(Pool& pool, int64_t blocks, Body body, const Partitioner& partitioner) {
  const Team::Elsewhere elsewhere(pool.team);
  struct Finally {
    const void* done;
    ~Finally() { sanitize::acquire(done); }
  } const finally{&body};
  struct Ended {  // a piece of work
    const void* done;
    ~Ended() { sanitize::release(done); }
  };
  const Handed handed([body, done = static_cast<const void*>(&body)](const tbb::blocked_range<int64_t>& range) {
    const Ended ended{done};
    body(range.begin(), range.end());
  });
  // Where all places in the arena are taken, one of its threads runs this for the caller.
  struct Loop {
    int64_t blocks;
    const decltype(handed)& task;
    const Partitioner& partitioner;

    void operator()() const {
      sanitize::acquire(this);
      tbb::this_task_arena::isolate(
          [&] { tbb::parallel_for(tbb::blocked_range<int64_t>(0, blocks, 1), task, partitioner); });
    }
  } const loop{blocks, handed, partitioner};
  sanitize::release(&loop);
  pool.arena.execute(loop);
}

template <class Partitioner>
void run_blocks(Pool& pool, int64_t blocks, Body body, const Partitioner& partitioner) {
  if (!pool.start()) return body(0, blocks);
  if (!pool.team.run(blocks, body, [&](int count) { return pool.call(count); }))
    run_apart(pool, blocks, body, partitioner);
}

}  // namespace

int num_threads() { return pool().get()->threads; }

void set_num_threads(int n) {
  n = std::clamp(n, 1, kMostThreads);
  if (n != num_threads()) pool().set(std::make_shared<Pool>(n));
}

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body, bool brief) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t blocks = n / grain;  // the last block takes the remainder
  if (blocks <= 1) return body(0, n);
  const std::shared_ptr<Pool> held = pool().get();  // set_num_threads may replace it meanwhile
  if (held->threads == 1) return body(0, n);
  if (brief && !held->team.has_help() && !held->team.is_worth_calling(blocks)) return body(0, n);
  run_blocks(
      *held, blocks, [&](int64_t begin, int64_t end) { body(begin * grain, end == blocks ? n : end * grain); },
      tbb::auto_partitioner());
}

void parallel_tasks(int n, FunctionRef<void(int)> task) {
  const std::shared_ptr<Pool> held = n > 1 ? pool().get() : nullptr;
  if (!held || held->threads == 1) {
    for (int i = 0; i < n; ++i) task(i);
    return;
  }
  run_blocks(
      *held, n,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) task(static_cast<int>(i));
      },
      tbb::simple_partitioner());
}

}  // namespace neap
