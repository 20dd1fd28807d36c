// What a byte is worth in time.
#include "planner/search/better.h"

#include <gtest/gtest.h>

namespace neap::planner {
namespace {

TEST(Better, TheFasterPlanIs) {
  EXPECT_TRUE(better({120, 0.95}, {100, 1}));
  EXPECT_FALSE(better({100, 1}, {120, 0.95}));
  EXPECT_TRUE(better({100, 0.9}, {100, 1}));
  EXPECT_FALSE(better({100, 1}, {100, 1}));
}

TEST(Better, OfTwoThatTakeAsLongTheSmallerOneIs) {
  EXPECT_TRUE(better({99, 1.03}, {100, 1}));
  EXPECT_FALSE(better({99, 1.04}, {100, 1}));
  EXPECT_FALSE(better({100, 1}, {99, 1.02}));
}

TEST(Better, MuchLessMayTakeLonger) {
  EXPECT_TRUE(better({66, 1.1}, {100, 1}));
  EXPECT_FALSE(better({66, 1.11}, {100, 1}));
  EXPECT_TRUE(better({10, 1.3}, {100, 1}));
  EXPECT_FALSE(better({10, 1.31}, {100, 1}));
  EXPECT_FALSE(better({100, 1}, {10, 1.3}));
}

TEST(Better, NaiveIsExceededByASixteenthOrByAQuarterWhereItIsSlow) {
  constexpr size_t kMany = 1 << 20;
  EXPECT_FALSE(exceeds_naive({170 * kMany, 1}, {160 * kMany, 1}));
  EXPECT_TRUE(exceeds_naive({171 * kMany, 1}, {160 * kMany, 1.29}));
  EXPECT_FALSE(exceeds_naive({200 * kMany, 1}, {160 * kMany, 1.3}));
  EXPECT_TRUE(exceeds_naive({201 * kMany, 1}, {160 * kMany, 9}));
}

TEST(Better, APageMoreThanNaiveIsNothing) {
  EXPECT_FALSE(exceeds_naive({4096 + 160, 1}, {160, 1}));
  EXPECT_TRUE(exceeds_naive({4096 + 161, 1}, {160, 1}));
}

}  // namespace
}  // namespace neap::planner
