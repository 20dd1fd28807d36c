// NEAP_PROGRESS: what lasts says how far it is; what is short, and everything without the variable, says nothing.
#include "core/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#ifdef __linux__
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace neap {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

// Says of a loop of ten iterations, with one inside in the fifth, how far it is.
void run_loop(milliseconds each) {
  Progress outer("loop of\nf", "iteration", 10);
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(each);
    if (i == 4) {
      Progress inner("inner", "iteration", 0);
      inner.at(7);
      std::this_thread::sleep_for(each);
      inner.add();
    }
    outer.at(i + 1);
  }
}

void start(const char* variable, milliseconds delay) {
  variable ? setenv("NEAP_PROGRESS", variable, 1) : unsetenv("NEAP_PROGRESS");
  progress_delay = delay;
}

TEST(ProgressDeathTest, IsOffUnlessAskedFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* variable : {static_cast<const char*>(nullptr), "", "0"}) {
    EXPECT_EXIT(
        {
          start(variable, milliseconds(0));
          std::exit(progress_on() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "^$");
  }
}

// Standard error is a pipe here: whole lines.
TEST(ProgressDeathTest, WritesLinesWhereThereIsNoTerminal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        start("1", milliseconds(20));
        if (!progress_on()) std::exit(1);
        run_loop(milliseconds(21));
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "^neap: [0-9.]+ s, loop of\\?f: 10 %, [0-9.]+ s left, iteration 1 of 10\n"
      "(neap: .* s, loop of\\?f.*\n)+"
      "neap: loop of\\?f: over after [0-9.]+ s\n$");
}

TEST(ProgressDeathTest, SaysNothingOfWhatIsShort) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        start("1", milliseconds(60000));
        run_loop(milliseconds(1));
        { const Progress ticking("nothing", "", 0, Progress::Clock::ticks); }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(ProgressDeathTest, DrawsWhatSaysNothingAsTimeGoesBy) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        start("1", milliseconds(20));
        const Progress all("model", "", 0);
        {
          const Progress planning("planning", "plan", 0, Progress::Clock::ticks);
          Progress::current()->add();
          std::this_thread::sleep_for(milliseconds(500));
        }
        std::exit(Progress::current() == &all ? 0 : 1);
      },
      testing::ExitedWithCode(0), "^neap: [0-9.]+ s, model; planning: plan 1\n");
}

// Of several threads one has the line; the others wait for nothing.
TEST(ProgressDeathTest, SeveralThreadsShareTheLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        start("1", milliseconds(0));
        std::vector<std::thread> threads;
        for (int t = 0; t < 8; ++t) {
          threads.emplace_back([] {
            Progress loop("loop", "iteration", 200);
            for (int i = 0; i < 200; ++i) {
              Progress inner("inner", "iteration", 3);
              for (int k = 0; k < 3; ++k) inner.at(k);
              loop.at(i + 1);
            }
          });
        }
        for (auto& thread : threads) thread.join();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^(neap: .*loop.*\n)+$");
}

#ifdef __linux__
// What a program writes to a terminal.
template <class F>
std::string on_a_terminal(F f) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    f();
    _exit(0);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(terminal, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return text;
}

TEST(Progress, RedrawsOneLineOnATerminal) {
  const std::string text = on_a_terminal([] {
    start("1", milliseconds(1));
    run_loop(milliseconds(30));
  });
  EXPECT_THAT(
      text, testing::ContainsRegex("^\r\x1b\\[Kneap: [0-9.]+ s, loop of\\?f: 10 %, [0-9.]+ s left, iteration 1 of 10"));
  EXPECT_THAT(text, testing::EndsWith("\r\x1b[K"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  EXPECT_THAT(text, testing::ContainsRegex("iteration (9|8|7|6|5) of 10"));
  size_t longest = 0;
  for (size_t at = 0, end = 0; end != text.npos; at = end + 1) {
    end = text.find('\r', at);
    longest = std::max(longest, std::min(end, text.size()) - at);
  }
  EXPECT_LE(longest, 79u + 3u);
}

TEST(Progress, CutsLongNamesBetweenLetters) {
  const std::string text = on_a_terminal([] {
    start("1", milliseconds(0));
    std::string name = "n";
    for (int i = 0; i < 100; ++i) name += "\xc3\xa4";
    Progress loop(name, "iteration", 2);
    loop.at(1);
  });
  const std::string line = text.substr(0, text.find("..\r"));
  ASSERT_LT(line.size(), text.size());
  EXPECT_THAT(line, testing::EndsWith("\xc3\xa4"));
}
#endif

}  // namespace
}  // namespace neap
