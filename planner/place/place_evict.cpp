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
constexpr int64_t kWorkOfLook = 2, kWorkOfEvent = 14, kWorkOfMove = 100;  // units of Meter

double size(const Block& block, Eviction::Weight weight) {
  return std::pow(static_cast<double>(block.bytes), weight.of_bytes) *
         std::pow(block.last - block.first + 1, weight.of_steps);
}

}  // namespace

Eviction::Eviction(const Overlaps& blocks, const Placement& placement, Weight weight)
    : blocks_(blocks), best_(placement) {
  for (int i = 0; i < blocks.size(); ++i) {
    weights_.push_back(size(blocks[i], weight));
    offsets_.push_back(placement.offsets[blocks.original(i)]);
  }
  evicted_.assign(weights_.size(), 0);
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

// The offset at which the blocks in the way cost least, of free ones any, as roundings of the sums choose (the lowest,
// which was tried, ends higher for blocks of which hundreds are alive together): a neighbour is in the way of all
// offsets above its own less the block's bytes, and below its end.
Eviction::Spot Eviction::cheapest_spot(int block, int64_t capacity) {
  const auto bytes = static_cast<int64_t>(blocks_[block].bytes);
  neighbours_.clear();
  events_.clear();
  double now = 0;  // at offset 0
  work_ += kWorkOfLook * blocks_.visit(block, [&](int other) {
    if (offsets_[other] == kNowhere) return;
    neighbours_.push_back(other);
    const int64_t begin = offsets_[other] - bytes, end = offsets_[other] + static_cast<int64_t>(blocks_[other].bytes);
    begin < 0 ? void(now += cost(other)) : events_.push_back({begin, cost(other)});
    events_.push_back({end, -cost(other)});
  });
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

void Eviction::keep() {
  best_.extent = 0;
  for (int i = 0; i < blocks_.size(); ++i) {
    best_.offsets[blocks_.original(i)] = offsets_[i];
    best_.extent = std::max(best_.extent, static_cast<size_t>(offsets_[i]) + blocks_[i].bytes);
  }
}

void Eviction::go_back() {
  waiting_.clear();
  for (int i = 0; i < blocks_.size(); ++i) offsets_[i] = best_.offsets[blocks_.original(i)];
}

void Eviction::place_largest_first(Meter& meter) {
  constexpr Weight kOrder{1, 0.2};
  constexpr int64_t kPart = 3;  // of what is left of the meter
  if (blocks_.pairs() * 2 * (kWorkOfEvent + kWorkOfLook) > meter.left() / kPart) return;
  std::vector<int> order(blocks_.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> sizes;
  for (int i = 0; i < blocks_.size(); ++i) sizes.push_back(size(blocks_[i], kOrder));
  std::ranges::sort(order, {}, [&](int i) { return std::pair(-sizes[i], i); });
  offsets_.assign(offsets_.size(), kNowhere);
  int64_t extent = 0;
  for (const int i : order) {
    const int64_t bytes = static_cast<int64_t>(blocks_[i].bytes);
    const int64_t at = cheapest_spot(i, extent + bytes).offset;
    const auto is_in_the_way = [&](int other) {
      return offsets_[other] < at + bytes && at < offsets_[other] + static_cast<int64_t>(blocks_[other].bytes);
    };
    if (std::ranges::any_of(neighbours_, is_in_the_way)) return go_back();  // its cost was lost beside larger ones
    offsets_[i] = at;
    extent = std::max(extent, at + bytes);
    meter.spend(std::exchange(work_, 0));
    if (meter.spent() || static_cast<size_t>(extent) >= best_.extent) return go_back();
  }
  keep();
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
    offsets_[block] = kNowhere;
    waiting_.push_back(block);
  };
  for (int i = 0; i < blocks_.size(); ++i) {
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
    offsets_[block] = spot.offset;
    work_ += kWorkOfMove;
    meter.spend(std::exchange(work_, 0));
  }
  const bool found = waiting_.empty();
  found ? keep() : go_back();
  return found;
}

}  // namespace neap::planner
