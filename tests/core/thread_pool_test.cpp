// Parallel loops and tasks: each piece once, on as many threads as asked, from any thread, with errors passed on.
#include "core/thread_pool.h"

#include <neap/error.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace neap {
namespace {

class ThreadPoolTest : public testing::Test {
 protected:
  ~ThreadPoolTest() override { set_num_threads(before_); }
  const int before_ = num_threads();
};

TEST_F(ThreadPoolTest, CoversTheRangeOnceInGrains) {
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    EXPECT_EQ(num_threads(), threads);
    for (const int64_t n : {0, 1, 9, 10, 11, 19, 20, 1000, 12347}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      parallel_for(n, 10, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % 10, 0);
        EXPECT_TRUE(end - begin >= 10 || (begin == 0 && end == n));
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (const auto& count : seen) ASSERT_EQ(count, 1);
    }
  }
  set_num_threads(0);
  EXPECT_EQ(num_threads(), 1);
}

TEST_F(ThreadPoolTest, UsesAsManyThreadsAsAskedEvenBeyondTheHardware) {
  set_num_threads(4);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  // Four tasks that wait for one another end only if four threads run them. Give up after 20 s.
  std::atomic<int> arrived{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  parallel_tasks(4, [&](int) {
    {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    ++arrived;
    while (arrived < 4 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  });
  EXPECT_EQ(ids.size(), 4u);
}

TEST_F(ThreadPoolTest, SerialOnTheCallersThread) {
  const auto caller = std::this_thread::get_id();
  auto same = [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); };
  set_num_threads(4);
  parallel_for(100, 100, same);
  set_num_threads(1);
  parallel_for(1000000, 1, same);
}

TEST_F(ThreadPoolTest, TasksRunOnceEachAndNest) {
  set_num_threads(3);
  std::vector<std::atomic<int>> seen(200);
  parallel_tasks(20, [&](int outer) {
    parallel_for(10, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(outer * 10 + i)];
    });
  });
  for (const auto& count : seen) EXPECT_EQ(count, 1);
  parallel_tasks(0, [](int) { FAIL(); });
}

TEST_F(ThreadPoolTest, ExceptionsReachTheCaller) {
  set_num_threads(2);
  EXPECT_THROW(parallel_for(1000, 1, [](int64_t, int64_t) { throw std::runtime_error("x"); }), std::runtime_error);
  EXPECT_THROW(parallel_tasks(10,
                              [](int i) {
                                if (i == 7) throw std::logic_error("x");
                              }),
               std::logic_error);
}

// Whichever way the others were told: each loop has two pieces that wait for each other.
TEST_F(ThreadPoolTest, OthersHelp) {
  set_num_threads(2);
  const auto two_meet = [](bool brief, int64_t blocks) {
    std::mutex mutex;
    std::set<std::thread::id> ids;
    std::atomic<int> arrived = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto meet = [&](int64_t, int64_t) {
      {
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
      }
      ++arrived;
      while (arrived < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    };
    parallel_for(blocks, 1, meet, brief);
    return ids.size();
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(two_meet(false, 2), 2u);
    EXPECT_EQ(two_meet(true, 64), 2u);
    if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // who helped has left
  }
  // Brief ones are many before anybody is called, then all that follow have help.
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::set<std::thread::id> ids;
  std::mutex mutex;
  for (int i = 0; i < 1000; ++i) {
    parallel_for(
        4, 1,
        [&](int64_t, int64_t) {
          const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(3);
          while (std::chrono::steady_clock::now() < end) {}
          const std::lock_guard lock(mutex);
          ids.insert(std::this_thread::get_id());
        },
        true);
  }
  EXPECT_EQ(ids.size(), 2u);
}

TEST_F(ThreadPoolTest, ShortLoopsOneAfterTheOther) {
  for (const int threads : {2, 3, 5}) {
    set_num_threads(threads);
    std::vector<int> seen(40);
    int64_t inner = 0;
    for (int loop = 1; loop <= 3000; ++loop) {
      parallel_for(40, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];  // by one thread, after the last loop's
      });
      if (loop % 100 == 0) {  // somebody needs the threads elsewhere
        std::atomic<int64_t> sum = 0;
        parallel_tasks(threads,
                       [&](int) { parallel_for(100, 5, [&](int64_t begin, int64_t end) { sum += end - begin; }); });
        inner += sum;
      }
      if (loop % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until all have left
      for (const int count : seen) ASSERT_EQ(count, loop);
    }
    EXPECT_EQ(inner, 30 * 100 * threads);
  }
}

TEST_F(ThreadPoolTest, AfterAnExceptionTheNextLoopRuns) {
  set_num_threads(3);
  for (int64_t loop = 0; loop < 200; ++loop) {
    const auto fails = [&](int64_t begin, int64_t end) {
      if (begin <= loop % 40 && loop % 40 < end) throw std::runtime_error("x");
    };
    EXPECT_THROW(parallel_for(40, 1, fails), std::runtime_error);
    std::atomic<int64_t> total = 0;
    parallel_for(40, 1, [&](int64_t begin, int64_t end) { total += end - begin; });
    EXPECT_EQ(total, 40);
  }
}

TEST_F(ThreadPoolTest, CallsFromManyThreads) {
  set_num_threads(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        parallel_for(1000, 10, [&](int64_t begin, int64_t end) { total += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 50 * 1000);
}

TEST_F(ThreadPoolTest, TheNumberMayChangeWhileLoopsRun) {
  std::atomic<int64_t> total{0};
  std::thread caller([&] {
    for (int k = 0; k < 200; ++k) {
      parallel_for(1000, 10, [&](int64_t begin, int64_t end) { total += end - begin; });
    }
  });
  for (int k = 0; k < 50; ++k) set_num_threads(2 + k % 3);
  caller.join();
  EXPECT_EQ(total, 200 * 1000);
}

// oneTBB says on standard error what it refuses.
TEST_F(ThreadPoolTest, TheNumberMayGrowWhileLoopsRunWithoutAWord) {
  testing::internal::CaptureStderr();
  for (const int more : {8, 40, 300, kMostThreads}) {
    set_num_threads(2);
    std::atomic<bool> running = false, stop = false;
    std::thread caller([&] {
      parallel_tasks(2, [&](int) {
        running = true;
        while (!stop) std::this_thread::yield();
      });
    });
    while (!running) std::this_thread::yield();
    set_num_threads(more);
    parallel_tasks(4, [](int) {});
    stop = true;
    caller.join();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  set_num_threads(1 << 30);
  EXPECT_EQ(num_threads(), kMostThreads);
}

TEST(ThreadPoolDeathTest, TheEnvironmentMustNameANumber) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto threads = [](const char* text) {
    setenv("NEAP_NUM_THREADS", text, 1);
    try {
      _exit(num_threads());
    } catch (const UserError& e) {
      std::fputs(e.what(), stderr);
      _exit(99);
    }
  };
  EXPECT_EXIT(threads("3"), testing::ExitedWithCode(3), "");
  for (const char* bad : {"abc", "0", "-1", "3x", " 3", "1e3", "1025", "99999999999999999999"}) {
    EXPECT_EXIT(threads(bad), testing::ExitedWithCode(99),
                "NEAP_NUM_THREADS: got \".*\"; expected a number of threads from 1 to 1024");
  }
}

}  // namespace
}  // namespace neap
