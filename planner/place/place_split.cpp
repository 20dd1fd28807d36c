#include "planner/place/place_split.h"

#include <algorithm>
#include <numeric>

namespace neap::planner {

namespace {

struct Allocation {
  std::vector<int> members;  // by offset
  std::vector<size_t> at;    // of each member
  size_t extent = 0;
};

// The lowest offset for `b` among blocks that are alive with it.
size_t lowest(std::span<const Block> blocks, const Allocation& allocation, const Block& b) {
  size_t at = 0;
  for (size_t i = 0; i < allocation.members.size(); ++i) {
    const Block& other = blocks[static_cast<size_t>(allocation.members[i])];
    if (other.last < b.first || b.last < other.first) continue;
    if (at + b.bytes <= allocation.at[i]) break;
    at = std::max(at, allocation.at[i] + other.bytes);
  }
  return at;
}

void insert(Allocation& allocation, int member, size_t at, size_t bytes) {
  const auto before = std::ranges::upper_bound(allocation.at, at) - allocation.at.begin();
  allocation.members.insert(allocation.members.begin() + before, member);
  allocation.at.insert(allocation.at.begin() + before, at);
  allocation.extent = std::max(allocation.extent, at + bytes);
}

}  // namespace

SplitPlacement place_split(std::span<const Block> blocks, size_t limit) {
  std::vector<int> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::greater{}, [&](int b) { return std::pair(blocks[static_cast<size_t>(b)].bytes, -b); });
  std::vector<Allocation> allocations;
  for (const int member : order) {
    const Block& b = blocks[static_cast<size_t>(member)];
    if (b.bytes == 0 || b.last < b.first) continue;
    bool placed = false;
    for (Allocation& allocation : allocations) {
      const size_t at = lowest(blocks, allocation, b);
      if (at + b.bytes > std::max(limit, allocation.extent)) continue;
      insert(allocation, member, at, b.bytes);
      placed = true;
      break;
    }
    if (!placed) insert(allocations.emplace_back(), member, 0, b.bytes);
  }
  SplitPlacement result;
  result.offsets.assign(blocks.size(), 0);
  size_t begin = 0;
  for (Allocation& allocation : allocations) {
    std::vector<Block> members;
    for (const int member : allocation.members) members.push_back(blocks[static_cast<size_t>(member)]);
    const Placement better = place(members);
    const bool lower = better.extent < allocation.extent;
    for (size_t i = 0; i < members.size(); ++i) {
      result.offsets[static_cast<size_t>(allocation.members[i])] =
          static_cast<int64_t>(begin) + (lower ? better.offsets[i] : static_cast<int64_t>(allocation.at[i]));
    }
    result.extents.push_back(lower ? better.extent : allocation.extent);
    begin += result.extents.back();
  }
  return result;
}

}  // namespace neap::planner
