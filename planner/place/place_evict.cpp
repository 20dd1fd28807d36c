#include "planner/place/place_evict.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace neap::planner {

namespace {

constexpr int64_t kNowhere = -1;
constexpr double kGrudge = 0.2;  // what losing its place once adds to what moving a block costs
constexpr int kBucket = 32;      // steps
constexpr int64_t kWorkOfNeighbour = 4, kWorkOfEvent = 30, kWorkOfMove = 300;  // units of Meter

}  // namespace

Eviction::Eviction(std::span<const Block> blocks, const Placement& placement) : blocks_(blocks), best_(placement) {
  int end = 0;
  for (const Block& block : blocks) {
    end = std::max(end, block.last + 1);
    weights_.push_back(std::sqrt(static_cast<double>(block.bytes) * (block.last - block.first + 1)));
  }
  buckets_.resize(end / kBucket + 1);
  seen_.assign(blocks.size(), 0);
  evicted_.assign(blocks.size(), 0);
  offsets_.assign(blocks.size(), kNowhere);
  for (size_t i = 0; i < blocks.size(); ++i) put(static_cast<int>(i), placement.offsets[i]);
}

void Eviction::put(int block, int64_t offset) {
  offsets_[block] = offset;
  for (int b = blocks_[block].first / kBucket; b <= blocks_[block].last / kBucket; ++b) buckets_[b].push_back(block);
  work_ += kWorkOfMove;
}

void Eviction::remove(int block) {
  offsets_[block] = kNowhere;
  for (int b = blocks_[block].first / kBucket; b <= blocks_[block].last / kBucket; ++b) {
    std::vector<int>& bucket = buckets_[b];
    *std::ranges::find(bucket, block) = bucket.back();
    bucket.pop_back();
    work_ += std::ssize(bucket) / 4;
  }
}

void Eviction::find_neighbours(int block) {
  const Block& own = blocks_[block];
  neighbours_.clear();
  ++looks_;
  for (int b = own.first / kBucket; b <= own.last / kBucket; ++b) {
    for (const int other : buckets_[b]) {
      if (seen_[other] == looks_ || blocks_[other].last < own.first || own.last < blocks_[other].first) continue;
      seen_[other] = looks_;
      neighbours_.push_back(other);
    }
    work_ += kWorkOfNeighbour * std::ssize(buckets_[b]);
  }
}

double Eviction::cost(int block) const { return weights_[block] * (1 + kGrudge * evicted_[block]); }

// Sorts by offset, what ends there before what begins. Offsets are spread over the capacity: of about as many equal
// ranges of it as there are events, each has a few.
void Eviction::sort_events(int64_t capacity) {
  const auto bits = [](auto n) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(n))); };
  const int shift = std::max(bits(capacity) - bits(events_.size()), 0);
  const auto range = [&](const Event& e) { return static_cast<size_t>(e.offset >> shift); };
  ends_.assign((static_cast<size_t>(capacity) >> shift) + 2, 0);
  for (const Event& e : events_) ++ends_[range(e) + 1];
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  unsorted_.swap(events_);
  events_.resize(unsorted_.size());
  for (const Event& e : unsorted_) events_[ends_[range(e)]++] = e;
  int begin = 0;
  for (const int end : ends_) {
    if (end - begin > 1) {
      std::ranges::sort(events_.begin() + begin, events_.begin() + end, {},
                        [](const Event& e) { return std::pair(e.offset, e.change); });
    }
    begin = end;
  }
}

// The offset at which the blocks in the way cost least, the lowest of those: a neighbour is in the way of all offsets
// above its own less the block's bytes, and below its end.
Eviction::Spot Eviction::cheapest_spot(int block, int64_t capacity) {
  const auto bytes = static_cast<int64_t>(blocks_[block].bytes);
  find_neighbours(block);
  events_.clear();
  double now = 0;  // at offset 0
  for (const int other : neighbours_) {
    const int64_t begin = offsets_[other] - bytes, end = offsets_[other] + static_cast<int64_t>(blocks_[other].bytes);
    begin < 0 ? void(now += cost(other)) : events_.push_back({begin, cost(other)});
    events_.push_back({end, -cost(other)});
  }
  sort_events(capacity);
  work_ += kWorkOfEvent * std::ssize(events_);
  Spot best{0, now};
  const auto consider = [&](int64_t offset) {
    if (offset + bytes <= capacity && now < best.cost * (1 - 1e-9)) best = {offset, now};
  };
  for (size_t i = 0; i < events_.size();) {
    const int64_t at = events_[i].offset;
    for (; i < events_.size() && events_[i].offset == at && events_[i].change < 0; ++i) now += events_[i].change;
    consider(at);
    for (; i < events_.size() && events_[i].offset == at; ++i) now += events_[i].change;
  }
  return best;
}

// The hardest to place of a few.
int Eviction::take_waiting() {
  constexpr int kDraws = 4;
  size_t best = random_() % waiting_.size();
  for (int i = 1; i < kDraws; ++i) {
    const size_t other = random_() % waiting_.size();
    if (cost(waiting_[other]) > cost(waiting_[best])) best = other;
  }
  std::swap(waiting_[best], waiting_.back());
  const int block = waiting_.back();
  waiting_.pop_back();
  return block;
}

bool Eviction::fit(size_t capacity, int64_t work, Meter& meter) {
  const int64_t stop = meter.left() - work;
  const auto wait = [&](int block) {
    remove(block);
    waiting_.push_back(block);
  };
  for (int i = 0; i < static_cast<int>(blocks_.size()); ++i) {
    if (static_cast<size_t>(offsets_[i]) + blocks_[i].bytes > capacity) wait(i);
  }
  while (!waiting_.empty() && meter.left() > stop && !meter.spent()) {
    const int block = take_waiting();
    const Spot spot = cheapest_spot(block, static_cast<int64_t>(capacity));
    const auto end = spot.offset + static_cast<int64_t>(blocks_[block].bytes);
    for (const int other : neighbours_) {
      const int64_t begin = offsets_[other];
      if (begin >= end || begin + static_cast<int64_t>(blocks_[other].bytes) <= spot.offset) continue;
      wait(other);
    }
    evicted_[block] += 1;
    put(block, spot.offset);
    meter.spend(std::exchange(work_, 0));
  }
  if (waiting_.empty()) {
    best_.offsets = offsets_;
    best_.extent = 0;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      best_.extent = std::max(best_.extent, static_cast<size_t>(offsets_[i]) + blocks_[i].bytes);
    }
    return true;
  }
  waiting_.clear();
  for (std::vector<int>& bucket : buckets_) bucket.clear();
  for (size_t i = 0; i < blocks_.size(); ++i) put(static_cast<int>(i), best_.offsets[i]);
  return false;
}

}  // namespace neap::planner
