// Placements are sound, and tight on what real plans look like.
#include "planner/place.h"

#include <gtest/gtest.h>

#include <random>

namespace neap::planner {
namespace {

void check(const std::vector<Block>& blocks, const Placement& placement) {
  ASSERT_EQ(placement.offsets.size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto begin = static_cast<size_t>(placement.offsets[i]);
    EXPECT_LE(begin + blocks[i].bytes, placement.extent);
    EXPECT_EQ(begin % 64, 0u);
    for (size_t j = 0; j < i; ++j) {
      if (blocks[i].last < blocks[j].first || blocks[j].last < blocks[i].first) continue;
      const auto other = static_cast<size_t>(placement.offsets[j]);
      EXPECT_TRUE(begin + blocks[i].bytes <= other || other + blocks[j].bytes <= begin) << i << " and " << j;
    }
  }
  EXPECT_GE(placement.extent, live_bytes_bound(blocks));
}

TEST(Place, NothingTakesNothing) {
  EXPECT_EQ(place({}).extent, 0u);
  EXPECT_EQ(live_bytes_bound({}), 0u);
}

TEST(Place, AChainAlternatesBetweenTwoPlaces) {
  std::vector<Block> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back({i, i + 1, 6400});
  const Placement placement = place(blocks);
  check(blocks, placement);
  EXPECT_EQ(placement.extent, 12800u);
}

TEST(Place, ForwardAndBackwardReachTheBound) {
  std::vector<Block> blocks;  // activation i: from step i until its gradient's step
  for (int i = 0; i < 20; ++i) blocks.push_back({i, 40 - i, 64 * static_cast<size_t>(1 + i % 5)});
  for (int i = 0; i < 40; ++i) blocks.push_back({i, i + 1, 256});
  const Placement placement = place(blocks);
  check(blocks, placement);
  EXPECT_EQ(placement.extent, live_bytes_bound(blocks));
}

TEST(Place, ThousandsOfBlocksAreSoundToo) {
  for (const int count : {5000, 21'000}) {
    std::mt19937 random(1);
    std::vector<Block> blocks;
    for (int i = 0; i < count; ++i) {
      const int first = static_cast<int>(random() % 10'000), length = static_cast<int>(random() % 10);
      blocks.push_back({first, first + length, 64 * (random() % 100)});
    }
    blocks.push_back({20'000, 19'000, 64});  // never needed
    const Placement placement = place(blocks);
    blocks.pop_back();
    check(blocks, {std::vector(placement.offsets.begin(), placement.offsets.end() - 1), placement.extent});
    EXPECT_LT(static_cast<double>(placement.extent), 1.25 * static_cast<double>(live_bytes_bound(blocks)));
  }
}

TEST(Place, RandomProgramsAreSoundAndNearTheBound) {
  std::mt19937 random(1);
  double worst = 1;
  for (int program = 0; program < 50; ++program) {
    std::vector<Block> blocks;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(random() % 50), length = static_cast<int>(random() % 10);
      blocks.push_back({first, first + length, 64 * (1 + random() % 100)});
    }
    const Placement placement = place(blocks);
    check(blocks, placement);
    worst = std::max(worst, static_cast<double>(placement.extent) / static_cast<double>(live_bytes_bound(blocks)));
  }
  EXPECT_LT(worst, 1.25);
}

}  // namespace
}  // namespace neap::planner
