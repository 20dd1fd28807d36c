// Live ranges and their offsets are read and written as CSV, the format of public placement instances:
// id,lower,upper,size[,offset], one buffer a line, alive in [lower, upper). Tested in
// tests/planner/live_ranges_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/place/place.h"

namespace neap::planner {

struct LiveRange {
  std::string id;
  int64_t lower = 0, upper = 0;  // alive in [lower, upper)
  int64_t size = 0;
};

/// Reads CSV with a header; the order of columns is free, and columns of other names are passed over. Throws UserError,
/// with `name` and line, for what is no set of live ranges: a column is missing, a number is none or out of range,
/// upper is below lower, an id is there twice, all sizes together leave int64.
std::vector<LiveRange> parse_live_ranges(std::string_view csv, const std::string& name);

/// Writes CSV with a column `offset`.
std::string print_live_ranges(std::span<const LiveRange> ranges, std::span<const int64_t> offsets);

/// Makes blocks for place() of the ranges; their steps are the ranks of the times.
std::vector<Block> to_blocks(std::span<const LiveRange> ranges);

/// Says what is wrong with the offsets: one is negative, a buffer ends above `capacity`, or two buffers that are alive
/// at one time overlap. Returns nullopt where nothing is wrong.
std::optional<std::string> find_fault(std::span<const LiveRange> ranges, std::span<const int64_t> offsets,
                                      int64_t capacity);

}  // namespace neap::planner
