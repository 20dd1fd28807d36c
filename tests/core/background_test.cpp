#include "core/background.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace neap {
namespace {

TEST(Background, RunsTasksInTheirOrderBesideTheCaller) {
  std::vector<int> ran;
  std::promise<void> may_go;
  Background background;
  EXPECT_FALSE(background.busy());
  for (int i = 0; i < 4; ++i)
    background.begin(i, [&, i] {
      if (i == 0) may_go.get_future().wait();
      ran.push_back(i);
    });
  EXPECT_TRUE(background.busy());
  may_go.set_value();  // the first could not have ended before
  for (const int i : {2, 0, 3, 1}) background.end(i);
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_FALSE(background.busy());
}

TEST(Background, EndThrowsWhatTheTaskThrewAndNoneRunsAfterIt) {
  bool ran = false;
  Background background;
  std::promise<void> may_go;
  background.begin(1, [&] {
    may_go.get_future().wait();
    throw std::runtime_error("lost");
  });
  background.begin(2, [&] { ran = true; });
  may_go.set_value();
  EXPECT_THROW(background.end(2), std::runtime_error);
  EXPECT_THROW(background.end(1), std::runtime_error);
  EXPECT_THROW(background.begin(3, [&] { ran = true; }), std::runtime_error);
  EXPECT_FALSE(ran);
}

TEST(Background, WaitsForWhatHasBegunWhenItGoes) {
  std::vector<int> ran;
  {
    Background background;
    for (int i = 0; i < 100; ++i) background.begin(i, [&, i] { ran.push_back(i); });
  }
  EXPECT_EQ(ran.size(), 100u);
}

TEST(Background, ATaskRestsUntilSomebodyWaits) {
  EXPECT_FALSE(Background::rest(std::chrono::hours(1)));
  Background background;
  std::promise<bool> at_first;
  background.begin(1, [&] {
    at_first.set_value(Background::rest(std::chrono::microseconds(1)));
    while (Background::rest(std::chrono::hours(1))) {  // until end()
    }
  });
  EXPECT_TRUE(at_first.get_future().get());
  background.end(1);
}

}  // namespace
}  // namespace neap
