// Live ranges as CSV: what is read, what is refused and how, what is found wrong with offsets.
#include "planner/place/live_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/error.h>

namespace neap::planner {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view csv) {
  try {
    parse_live_ranges(csv, "x.csv");
  } catch (const UserError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(LiveRanges, ReadsColumnsInAnyOrder) {
  const auto ranges =
      parse_live_ranges("\xef\xbb\xbfsize, note,upper,id,lower\r\n10,x,7,a,-3\r\n\r\n0,,2,b,2", "x.csv");
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].id, "a");
  EXPECT_EQ(ranges[0].lower, -3);
  EXPECT_EQ(ranges[0].upper, 7);
  EXPECT_EQ(ranges[0].size, 10);
  EXPECT_EQ(ranges[1].id, "b");
  EXPECT_EQ(print_live_ranges(ranges, std::vector<int64_t>{5, 0}),
            "id,lower,upper,size,offset\na,-3,7,10,5\nb,2,2,0,0\n");
}

TEST(LiveRanges, TimesBecomeSteps) {
  const auto ranges = parse_live_ranges("id,lower,upper,size\n0,-9000000000,5,1\n1,5,6,2\n2,5,5,3\n", "x.csv");
  const std::vector<Block> blocks = to_blocks(ranges);
  EXPECT_EQ(blocks[0].first, 0);
  EXPECT_EQ(blocks[0].last, 0);
  EXPECT_EQ(blocks[1].first, 1);
  EXPECT_EQ(blocks[1].last, 1);
  EXPECT_LT(blocks[2].last, blocks[2].first);  // never alive
}

TEST(LiveRanges, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal(""), HasSubstr("x.csv:1: no header; expected id,lower,upper,size"));
  EXPECT_THAT(refusal("id,lower,upper,size\n"), HasSubstr("no buffers"));
  EXPECT_THAT(refusal("id,lower,size\n0,1,2\n"), HasSubstr("x.csv:1: no column 'upper' in 'id,lower,size'"));
  EXPECT_THAT(refusal("id,lower,upper,size,size\n"), HasSubstr("more than one column 'size'"));
  const std::string header = "id,lower,upper,size\n";
  EXPECT_THAT(refusal(header + "0,1,2\n"), HasSubstr("x.csv:2: 3 fields; the header has 4"));
  EXPECT_THAT(refusal(header + "0,1,2,3\n1,5,4,3\n"), HasSubstr("x.csv:3: upper 4 is below lower 5"));
  EXPECT_THAT(refusal(header + "0,1,2,-3\n"), HasSubstr("size -3 is negative"));
  EXPECT_THAT(refusal(header + "0,1,2,3x\n"), HasSubstr("size '3x' is no whole number"));
  EXPECT_THAT(refusal(header + "0,1,,3\n"), HasSubstr("upper '' is no whole number"));
  EXPECT_THAT(refusal(header + "0,1,2.5,3\n"), HasSubstr("upper '2.5' is no whole number"));
  EXPECT_THAT(refusal(header + "0,1,2,9223372036854775808\n"), HasSubstr("leaves int64"));
  EXPECT_THAT(refusal(header + "0,1,2,9223372036854775807\n1,1,2,1\n"), HasSubstr("all sizes together leave int64"));
  EXPECT_THAT(refusal(header + "0,1,2,3\n1,1,2,3\n0,1,2,3\n"), HasSubstr("x.csv:4: id '0' is that of line 2 too"));
  EXPECT_THAT(refusal(header + ",1,2,3\n"), HasSubstr("no id"));
}

TEST(LiveRanges, FindsOverlapsAndEndsAboveTheCapacity) {
  const std::vector<LiveRange> ranges = {{"a", 0, 4, 10}, {"b", 2, 6, 5}, {"c", 4, 8, 10}, {"never", 3, 3, 99}};
  const auto fault = [&](std::vector<int64_t> offsets, int64_t capacity) {
    return find_fault(ranges, offsets, capacity).value_or("none");
  };
  EXPECT_EQ(fault({0, 10, 0, 0}, 15), "none");
  EXPECT_THAT(fault({0, 10, 0, 0}, 14), HasSubstr("'b' ends at 10 + 5, above 14"));
  EXPECT_THAT(fault({0, 9, 0, 0}, 99), HasSubstr("'a' and 'b' overlap at time 2"));
  EXPECT_THAT(fault({5, 0, 4, 0}, 99), HasSubstr("'b' and 'c' overlap at time 4"));
  EXPECT_THAT(fault({0, 0, 5, 0}, 99), HasSubstr("'a' and 'b' overlap at time 2"));
  EXPECT_THAT(fault({-1, 10, 0, 0}, 15), HasSubstr("'a' lies at -1"));
}

}  // namespace
}  // namespace neap::planner
