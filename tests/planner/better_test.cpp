// Which of two plans is preferred: what a byte is worth in time, and how far naive may be exceeded.
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
  EXPECT_TRUE(better({10, 1.35}, {100, 1}));
  EXPECT_FALSE(better({10, 1.36}, {100, 1}));
  EXPECT_FALSE(better({100, 1}, {10, 1.35}));
}

TEST(Better, TheSameWorkInAnotherLayoutMayBeNoWorse) {
  EXPECT_TRUE(better({99, 1}, {100, 1}, Policy::no_worse));
  EXPECT_TRUE(better({100, 0.98}, {100, 1}, Policy::no_worse));
  EXPECT_FALSE(better({100, 0.995}, {100, 1}, Policy::no_worse)) << "too little to move anything for";
  EXPECT_FALSE(better({101, 0.5}, {100, 1}, Policy::no_worse));
  EXPECT_FALSE(better({50, 1.001}, {100, 1}, Policy::no_worse));
}

TEST(Better, WhatIsMadeAgainMayTakeLongerByWhatItSaves) {
  EXPECT_FALSE(better({96, 0.9}, {100, 1}, Policy::rematerialized)) << "less than 5 %";
  EXPECT_TRUE(better({50, 1.149}, {100, 1}, Policy::rematerialized));
  EXPECT_FALSE(better({50, 1.151}, {100, 1}, Policy::rematerialized));
}

TEST(Better, SlicesMayTakeHardlyLonger) {
  EXPECT_FALSE(better({70, 0.9}, {100, 1}, Policy::sliced)) << "less than a third";
  EXPECT_TRUE(better({50, 1.0149}, {100, 1}, Policy::sliced));
  EXPECT_FALSE(better({50, 1.0151}, {100, 1}, Policy::sliced));
}

TEST(Better, WhatASearchFindsMayTakeLongerByWhatItSaves) {
  EXPECT_FALSE(better({96, 0.9}, {100, 1}, Policy::lowered)) << "less than 5 %";
  EXPECT_TRUE(better({90, 1.024}, {100, 1}, Policy::lowered));
  EXPECT_FALSE(better({90, 1.026}, {100, 1}, Policy::lowered));
}

TEST(Better, WhatCopiesLessHoldsLess) {
  EXPECT_TRUE(better({99, 9}, {100, 1}, Policy::fewer_bytes));
  EXPECT_FALSE(better({100, 0.1}, {100, 1}, Policy::fewer_bytes));
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
