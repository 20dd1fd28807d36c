#include "planner/place/place_overlaps.h"

#include <algorithm>
#include <numeric>

namespace neap::planner {

Overlaps::Overlaps(std::span<const Block> blocks) {
  constexpr int kLeastSpacing = 32;
  constexpr int64_t kListed = 64;  // in all, for each block
  const auto n = static_cast<int>(blocks.size());
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::sort(order_, {}, [&](int i) { return std::pair(blocks[i].first, i); });
  for (const int i : order_) blocks_.push_back(blocks[i]);
  for (const Block& block : blocks_) {
    const auto after = std::ranges::upper_bound(blocks_, block.last, {}, &Block::first);
    ends_.push_back(static_cast<int>(after - blocks_.begin()));
    pairs_ += ends_.back() - static_cast<int>(ends_.size());
  }
  spacing_ = static_cast<int>(std::max<int64_t>(kLeastSpacing, pairs_ / std::max<int64_t>(1, kListed * n)));
  std::vector<int> alive;
  for (int list = 0; list * spacing_ < n; ++list) {
    const int at = list * spacing_;
    begins_.push_back(static_cast<int>(alive_.size()));
    for (int i = std::max(0, at - spacing_); i < at; ++i) alive.push_back(i);
    std::erase_if(alive, [&](int i) { return blocks_[i].last < blocks_[at].first; });
    alive_.insert(alive_.end(), alive.begin(), alive.end());
  }
  begins_.push_back(static_cast<int>(alive_.size()));
}

}  // namespace neap::planner
