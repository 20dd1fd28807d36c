// Of the pieces on both sides of a step (place_pieces.h), those that match.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace neap::planner {

/// Some members of a group, and the bytes they have together.
struct GroupSum {
  size_t bytes;
  int group;
  uint64_t members;  // a bit each
  int count;
};

/// The sums of some members of each group of sizes, by bytes and then by how many they are: of all choices of members
/// of a small group; of few, or all but few, members of a larger one; of the first 63 members of any.
std::vector<GroupSum> group_sums(std::span<const std::vector<size_t>> groups);

/// One of `before` and one of `after` that have the same bytes, those with the highest `score(bytes, members)`; null
/// where there are none.
std::pair<const GroupSum*, const GroupSum*> best_match(std::span<const GroupSum> before,
                                                       std::span<const GroupSum> after,
                                                       const std::function<double(size_t, int)>& score);

}  // namespace neap::planner
