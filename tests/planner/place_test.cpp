// Placements are sound, as low as they can be where that can be known, and never above what greedy rules give.
#include "planner/place/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>

#include "planner/place/live_ranges.h"
#include "planner/place/place_fit.h"
#include "planner/place/place_overlaps.h"

namespace neap::planner {
namespace {

void check(const std::vector<Block>& blocks, const Placement& placement) {
  ASSERT_EQ(placement.offsets.size(), blocks.size());
  size_t end = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto begin = static_cast<size_t>(placement.offsets[i]);
    end = std::max(end, begin + blocks[i].bytes);
    EXPECT_EQ(begin % 64, 0u);
    for (size_t j = 0; j < i; ++j) {
      if (blocks[i].last < blocks[j].first || blocks[j].last < blocks[i].first) continue;
      const auto other = static_cast<size_t>(placement.offsets[j]);
      EXPECT_TRUE(begin + blocks[i].bytes <= other || other + blocks[j].bytes <= begin) << i << " and " << j;
    }
  }
  EXPECT_EQ(placement.extent, end);
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

// However many are placed together, they take no more than what they share; what was placed lies where it did.
TEST(Place, ManyPlacementsShareTheirWork) {
  constexpr int64_t kWork = 20'000'000;
  SharedPlacing shared(kWork);
  std::mt19937 random(3);
  int searched = 0;
  std::vector<std::vector<Block>> all;
  for (int i = 0; i < 60; ++i) {
    std::vector<Block>& blocks = all.emplace_back();
    for (int j = 0; j < 60; ++j) {
      const int first = static_cast<int>(random() % 40);
      blocks.push_back({first, first + static_cast<int>(random() % 8), 64 * (1 + random() % 500)});
    }
    const int64_t before = shared.left();
    const Placement placement = place(blocks, {.shared = &shared});
    check(blocks, placement);
    searched += shared.left() < before;
  }
  EXPECT_GT(searched, 10);
  EXPECT_GE(shared.left(), 0);
  const int64_t left = shared.left();
  for (const std::vector<Block>& blocks : all) {
    EXPECT_EQ(place(blocks, {.shared = &shared}).offsets, place(blocks, {.shared = &shared}).offsets);
  }
  EXPECT_EQ(shared.left(), left);
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

// Too many are alive together to search for places from below: blocks that end too high take the place of others.
TEST(Place, LongAndShortLivedBlocksLieNearTheBound) {
  for (const auto& [seed, most_above] : {std::pair(1u, 1.0005), {4u, 1.005}}) {
    std::mt19937 random(seed);
    const auto one_to = [&](double most) { return std::exp(random() / 4294967296.0 * std::log(most)); };
    std::vector<Block> blocks;
    for (int i = 0; i < 20'000; ++i) {
      const int first = static_cast<int>(random() % 10'000);
      blocks.push_back({first, first + static_cast<int>(one_to(100)), 64 * static_cast<size_t>(one_to(20'000))});
    }
    const size_t bound = live_bytes_bound(blocks);
    EXPECT_GT(static_cast<double>(place_greedily(blocks, bound).extent), 1.02 * static_cast<double>(bound));
    const Placement placement = place(blocks);
    check(blocks, placement);
    EXPECT_LT(static_cast<double>(placement.extent), most_above * static_cast<double>(bound)) << "seed " << seed;
  }
}

// Hundreds are alive together all the time.
TEST(Place, CrowdsLieNearTheBound) {
  std::mt19937 random(3);
  const auto one_to = [&](double most) { return std::exp(random() / 4294967296.0 * std::log(most)); };
  std::vector<Block> blocks;
  for (int i = 0; i < 20'000; ++i) {
    const int first = static_cast<int>(random() % 4000);
    blocks.push_back({first, first + static_cast<int>(one_to(1000)), 64 * static_cast<size_t>(one_to(20'000))});
  }
  const size_t bound = live_bytes_bound(blocks);
  EXPECT_GT(static_cast<double>(place_greedily(blocks, bound).extent), 1.03 * static_cast<double>(bound));
  const Placement placement = place(blocks);
  check(blocks, placement);
  EXPECT_LT(static_cast<double>(placement.extent), 1.003 * static_cast<double>(bound));
}

TEST(Place, OverlapsAreThePairsAliveTogether) {
  std::mt19937 random(1);
  for (const int count : {0, 1, 40, 300}) {
    std::vector<Block> blocks;
    for (int i = 0; i < count; ++i) {
      const int first = static_cast<int>(random() % 100);
      blocks.push_back({first, first + static_cast<int>(random() % 60), 64});
    }
    const Overlaps overlaps(blocks);
    int64_t pairs = 0;
    for (int i = 0; i < count; ++i) {
      std::vector<int> expected, visited;
      for (int j = 0; j < count; ++j) {
        const Block &one = blocks[overlaps.original(i)], &other = blocks[j];
        if (overlaps.original(i) != j && one.first <= other.last && other.first <= one.last) expected.push_back(j);
      }
      overlaps.visit(i, [&](int other) { visited.push_back(overlaps.original(other)); });
      std::ranges::sort(visited);
      EXPECT_EQ(visited, expected) << "block " << overlaps.original(i) << " of " << count;
      pairs += std::ssize(expected);
    }
    EXPECT_EQ(overlaps.pairs(), pairs / 2);
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

// Every order of placing, each block on top of what lies below it: the lowest placement is among them.
size_t lowest_extent(const std::vector<Block>& blocks) {
  std::vector<size_t> order(blocks.size()), top(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  size_t lowest = std::numeric_limits<size_t>::max();
  do {
    size_t extent = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      const Block& block = blocks[order[k]];
      size_t at = 0;
      for (size_t j = 0; j < k; ++j) {
        const Block& other = blocks[order[j]];
        if (other.first <= block.last && block.first <= other.last) at = std::max(at, top[order[j]]);
      }
      top[order[k]] = at + block.bytes;
      extent = std::max(extent, top[order[k]]);
    }
    lowest = std::min(lowest, extent);
  } while (std::ranges::next_permutation(order).found);
  return lowest;
}

TEST(Place, FewBlocksLieAsLowAsTheyCan) {
  std::mt19937 random(2);
  for (int program = 0; program < 300; ++program) {
    std::vector<Block> blocks;
    const size_t count = 2 + random() % 6;
    const int steps = 3 + static_cast<int>(random() % 5);
    for (size_t i = 0; i < count; ++i) {
      const int first = static_cast<int>(random() % steps);
      const int last = std::min(steps - 1, first + static_cast<int>(random() % 4));
      blocks.push_back({first, last, 64 * (1 + random() % 12)});
    }
    const Placement placement = place(blocks);
    check(blocks, placement);
    EXPECT_EQ(placement.extent, lowest_extent(blocks)) << "program " << program;
    EXPECT_EQ(placement.lower_bound, placement.extent) << "program " << program;
  }
}

TEST(Place, ProvesThatTheBoundIsOutOfReach) {
  const std::vector<Block> blocks = {{10, 10, 128}, {3, 5, 128}, {8, 8, 128}, {5, 9, 64},  {5, 7, 64},
                                     {1, 1, 64},    {0, 4, 128}, {6, 9, 64},  {9, 10, 128}};
  const Placement placement = place(blocks);
  check(blocks, placement);
  EXPECT_EQ(live_bytes_bound(blocks), 256u);
  EXPECT_EQ(lowest_extent(blocks), 320u);
  EXPECT_EQ(placement.extent, 320u);
  EXPECT_EQ(placement.lower_bound, 320u);
}

// A rectangle of steps x bytes cut into blocks: all of it is needed at every step. The largest of `looks` pieces is
// cut.
std::vector<Block> cut(int steps, size_t units, size_t count, std::mt19937& random, bool pinwheels = true,
                       int looks = 1) {
  struct Piece {
    int begin, end;
    size_t bottom, top;
  };
  std::vector<Piece> pieces{{0, steps, 0, units}};
  const auto between = [&](auto low, auto high) { return low + static_cast<decltype(low)>(random() % (high - low)); };
  while (pieces.size() < count) {
    const auto area = [&](size_t i) {
      return static_cast<size_t>(pieces[i].end - pieces[i].begin) * (pieces[i].top - pieces[i].bottom);
    };
    size_t at = random() % pieces.size();
    for (int look = 1; look < looks; ++look) {
      const size_t other = random() % pieces.size();
      if (area(other) > area(at)) at = other;
    }
    const Piece piece = pieces[at];
    const bool can_cut_steps = piece.end - piece.begin > 1, can_cut_bytes = piece.top - piece.bottom > 1;
    if (!can_cut_steps && !can_cut_bytes) continue;
    pieces.push_back(piece);
    if (pinwheels && piece.end - piece.begin > 3 && piece.top - piece.bottom > 3 &&
        random() % 3 == 0) {  // five, like a pinwheel
      const int x1 = between(piece.begin + 1, piece.end - 1), x2 = between(x1 + 1, piece.end);
      const size_t y1 = between(piece.bottom + 1, piece.top - 1), y2 = between(y1 + 1, piece.top);
      pieces[at] = {piece.begin, x2, piece.bottom, y1};
      pieces.back() = {x2, piece.end, piece.bottom, y2};
      pieces.push_back({x1, piece.end, y2, piece.top});
      pieces.push_back({piece.begin, x1, y1, piece.top});
      pieces.push_back({x1, x2, y1, y2});
    } else if (can_cut_steps && (!can_cut_bytes || random() % 2 == 0)) {
      pieces[at].end = pieces.back().begin = between(piece.begin + 1, piece.end);
    } else {
      pieces[at].top = pieces.back().bottom = between(piece.bottom + 1, piece.top);
    }
  }
  std::ranges::shuffle(pieces, random);
  std::vector<Block> blocks;
  for (const Piece& p : pieces) blocks.push_back({p.begin, p.end - 1, 64 * (p.top - p.bottom)});
  return blocks;
}

TEST(Place, PutsACutRectangleTogetherAgain) {
  std::mt19937 random(3);
  int greedily = 0;
  for (const size_t count : {10, 20, 30, 40, 50, 60}) {
    for (int program = 0; program < 4; ++program) {
      const std::vector<Block> blocks = cut(100, 1000, count, random);
      const size_t bound = live_bytes_bound(blocks);
      ASSERT_EQ(bound, 64'000u);
      const Placement placement = place(blocks, {.work = 2'000'000'000});
      check(blocks, placement);
      EXPECT_EQ(placement.extent, bound) << count << " blocks, program " << program;
      greedily += place_greedily(blocks, bound).extent == bound;
    }
  }
  EXPECT_LT(greedily, 20);  // or there was nothing to search
}

// Ten thousand: of about a size, of most sizes, and of all sizes in so many steps that few start together.
TEST(Place, PutsTenThousandPiecesTogetherAgain) {
  for (const auto& [steps, looks] : {std::pair(10'000, 8), {10'000, 2}, {1'000'000, 1}}) {
    std::mt19937 random(1);
    const std::vector<Block> blocks = cut(steps, 100 * static_cast<size_t>(steps), 10'000, random, false, looks);
    const Placement placement = place(blocks);
    check(blocks, placement);
    EXPECT_EQ(placement.extent, live_bytes_bound(blocks)) << steps << " steps, the largest of " << looks;
  }
}

// Where the pieces do not come together, as tiny ones match in many ways, what they came to is placed.
TEST(Place, PiecesThatDoNotComeTogetherLieNearTheBoundToo) {
  std::mt19937 random(1);
  const std::vector<Block> blocks = cut(1000, 10'000, 3000, random);
  const size_t bound = live_bytes_bound(blocks);
  const Placement placement = place(blocks);
  check(blocks, placement);
  EXPECT_LE(placement.extent, bound + bound / 10);
  EXPECT_GT(place_greedily(blocks, bound).extent, bound + bound / 5);
}

// Of thousands of pieces too, in any number of steps: guillotine cuts, and with pinwheels among them.
TEST(Place, PutsThousandsOfPiecesTogetherAgain) {
  std::mt19937 random(11);
  for (const int steps : {1000, 40'000}) {
    for (const bool pinwheels : {false, true}) {
      const size_t count = pinwheels ? 300 : steps == 1000 ? 1000 : 3000;
      const std::vector<Block> blocks = cut(steps, 100'000, count, random, pinwheels);
      const Placement placement = place(blocks);
      check(blocks, placement);
      EXPECT_EQ(placement.extent, live_bytes_bound(blocks)) << steps << " steps, " << blocks.size() << " blocks";
    }
  }
}

TEST(Place, IsNeverAboveTheGreedyPlacement) {
  std::mt19937 random(4);
  int below = 0;
  for (int program = 0; program < 60; ++program) {
    std::vector<Block> blocks = cut(60, 500, 40 + random() % 80, random);
    for (int i = 0; i < program / 2; ++i) {
      const int first = static_cast<int>(random() % 60);
      blocks.push_back({first, first + static_cast<int>(random() % 20), 64 * (1 + random() % 50)});
    }
    const size_t greedy = place_greedily(blocks, 0).extent;
    for (const int64_t work : {0, 100'000, 3'000'000}) {
      const Placement placement = place(blocks, {.work = work});
      check(blocks, placement);
      EXPECT_LE(placement.extent, greedy);
      EXPECT_GE(placement.extent, placement.lower_bound);
      below += placement.extent < greedy;
    }
  }
  EXPECT_GT(below, 0);
}

TEST(Place, TheSameWorkGivesTheSameOffsets) {
  std::mt19937 random(5);
  const std::vector<Block> blocks = cut(200, 4000, 300, random);
  const Placement one = place(blocks, {.work = 100'000'000}), two = place(blocks, {.work = 100'000'000});
  EXPECT_EQ(one.offsets, two.offsets);
  EXPECT_EQ(one.extent, two.extent);
}

TEST(Place, StopsAtWhatIsEnoughAndWhenTimeIsUp) {
  std::mt19937 random(6);
  const std::vector<Block> blocks = cut(300, 20'000, 500, random);
  const size_t greedy = place_greedily(blocks, 0).extent;
  EXPECT_LE(place(blocks, {.work = 0, .enough = greedy}).extent, greedy);
  const auto begin = std::chrono::steady_clock::now();
  const Placement placement = place(blocks, {.work = std::numeric_limits<int64_t>::max(), .seconds = 0.3});
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 5);
  check(blocks, placement);
}

TEST(Place, ProvesNoMoreThanIsTrueFromACapacityBetweenMultiples) {
  const std::vector<Block> blocks = {{10, 10, 128}, {3, 5, 128}, {8, 8, 128}, {5, 9, 64},  {5, 7, 64},
                                     {1, 1, 64},    {0, 4, 128}, {6, 9, 64},  {9, 10, 128}};
  const Placement placement = place(blocks, {.enough = 300});
  EXPECT_EQ(placement.extent, 320u);
  EXPECT_EQ(placement.lower_bound, 320u);
}

TEST(Place, WhatTakesNoBytesDisturbsNothing) {
  const std::vector<Block> blocks = {{0, 3, 640}, {2, 1, 1 << 20}, {1, 2, 0}, {0, 1, 64}, {3, 2, 64}};
  const Placement placement = place(blocks);
  EXPECT_EQ(placement.extent, 704u);
  EXPECT_EQ(placement.offsets[1], 0);
  EXPECT_EQ(placement.offsets[2], 0);
}

TEST(Place, BlocksApartInTimeAreSearchedApart) {
  std::mt19937 random(7);
  std::vector<Block> blocks;
  for (int part = 0; part < 10; ++part) {
    for (Block block : cut(40, 300, 30, random)) {
      block.first += 50 * part, block.last += 50 * part;
      blocks.push_back(block);
    }
  }
  const Placement placement = place(blocks, {.work = 1'000'000'000});
  check(blocks, placement);
  EXPECT_EQ(placement.extent, live_bytes_bound(blocks));
}

// A part that was lowered counts as low as it is then, also where the next cannot be lowered as far.
TEST(Place, TheExtentIsThatOfAllPartsWhereSomeStayHigher) {
  std::mt19937 random(8);
  for (int program = 0; program < 40; ++program) {
    std::vector<Block> blocks = cut(40, 300, 30, random);
    for (Block block : cut(200, 300, 300, random)) {
      block.first += 50, block.last += 50;
      blocks.push_back(block);
    }
    check(blocks, place(blocks, {.work = 100'000}));
  }
}

// The instances of tests/data/minimalloc, which greedy methods miss by 28 to 44 %.
class Instance : public testing::TestWithParam<std::string> {};

TEST_P(Instance, FitsItsCapacity) {
  constexpr int64_t kCapacity = 1'048'576;
  std::ifstream file(std::string(NEAP_TESTS_DIR) + "/data/minimalloc/" + GetParam() + ".1048576.csv");
  const std::string csv{std::istreambuf_iterator<char>(file), {}};
  const std::vector<LiveRange> ranges = parse_live_ranges(csv, GetParam());
  const Placement placement = place(to_blocks(ranges));  // as a plan's buffers
  EXPECT_LE(placement.extent, static_cast<size_t>(kCapacity));
  EXPECT_EQ(find_fault(ranges, placement.offsets, kCapacity), std::nullopt);
}

// A placement that is known, cut: what blocks fitted, their pieces do.
TEST_P(Instance, FitsItsCapacityInPiecesToo) {
  constexpr int64_t kCapacity = 1'048'576;
  std::ifstream file(std::string(NEAP_TESTS_DIR) + "/data/minimalloc/" + GetParam() + ".1048576.csv");
  const std::string csv{std::istreambuf_iterator<char>(file), {}};
  std::vector<Block> blocks = to_blocks(parse_live_ranges(csv, GetParam()));
  std::mt19937 random(9);
  for (size_t cuts = blocks.size() / 4; cuts > 0; --cuts) {
    Block& block = blocks[random() % blocks.size()];
    Block other = block;
    if (random() % 2 == 0 && block.last > block.first) {
      block.last = block.first + static_cast<int>(random() % static_cast<unsigned>(block.last - block.first));
      other.first = block.last + 1;
    } else if (block.bytes > 1024) {
      block.bytes = 1024 * (1 + random() % (block.bytes / 1024 - 1));
      other.bytes -= block.bytes;
    } else {
      continue;
    }
    blocks.push_back(other);
  }
  std::ranges::shuffle(blocks, random);
  const Placement placement = place(blocks, {.work = 4'000'000'000, .enough = kCapacity});
  check(blocks, placement);
  EXPECT_LE(placement.extent, static_cast<size_t>(kCapacity));
}

INSTANTIATE_TEST_SUITE_P(MiniMalloc, Instance, testing::Values("A", "C", "E", "G", "I", "K"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace neap::planner
