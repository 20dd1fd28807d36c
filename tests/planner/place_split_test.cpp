// Arenas of several allocations: every block in one of them, none too large, no two in the same bytes.
#include "planner/place/place_split.h"

#include <gtest/gtest.h>

#include <random>

namespace neap::planner {
namespace {

TEST(PlaceSplit, EveryBlockLiesInOneAllocation) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const size_t limit = 64 * (16 + random() % 64);
    std::vector<Block> blocks;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(random() % 40);
      blocks.push_back({first, first + static_cast<int>(random() % 12), 64 * (1 + random() % (limit / 64))});
    }
    const SplitPlacement placed = place_split(blocks, limit);
    std::vector<int> within;
    for (size_t i = 0; i < blocks.size(); ++i) {
      size_t begin = 0, k = 0;
      const auto offset = static_cast<size_t>(placed.offsets[i]);
      while (offset >= begin + placed.extents[k]) begin += placed.extents[k++];
      EXPECT_LE(offset + blocks[i].bytes, begin + placed.extents[k]);
      for (size_t j = 0; j < i; ++j) {
        if (blocks[j].last < blocks[i].first || blocks[i].last < blocks[j].first) continue;
        const auto other = static_cast<size_t>(placed.offsets[j]);
        EXPECT_TRUE(other + blocks[j].bytes <= offset || offset + blocks[i].bytes <= other);
      }
    }
    size_t sum = 0;
    for (const size_t extent : placed.extents) {
      EXPECT_LE(extent, limit);
      sum += extent;
    }
    EXPECT_GE(sum, live_bytes_bound(blocks));
    EXPECT_LE(static_cast<double>(sum), 1.7 * static_cast<double>(live_bytes_bound(blocks))) << "limit " << limit;
  }
}

TEST(PlaceSplit, WhatIsLargerThanAnyAllocationHasOneOfItsOwn) {
  const std::vector<Block> blocks{{0, 3, 640}, {0, 1, 64}, {2, 3, 64}, {4, 3, 128}};
  const SplitPlacement placed = place_split(blocks, 128);
  EXPECT_EQ(placed.extents, (std::vector<size_t>{640, 64}));
  EXPECT_EQ(placed.offsets, (std::vector<int64_t>{0, 640, 640, 0}));
}

}  // namespace
}  // namespace neap::planner
