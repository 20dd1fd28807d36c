#include "planner/place/place.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/place/place_evict.h"
#include "planner/place/place_fit.h"
#include "planner/place/place_pieces.h"
#include "planner/place/place_search.h"

namespace neap::planner {

namespace {

// Work is in units of about a nanosecond. `neap-plan place` on tests/data/minimalloc and neap-plan-speed measure it.
constexpr int64_t kFirstWork = 20'000'000;  // most for the first look at a capacity
constexpr int64_t kMuchWork = 100'000'000;  // what the instances of tests/data/minimalloc take, each
constexpr int64_t kSomeWork = 30'000'000, kLittleWork = 3'000'000;
constexpr int64_t kPuzzleWork = 1'000'000;  // for each of blocks that leave no byte free: there is no near miss
constexpr int64_t kMostPuzzleWork = 2'000'000'000;
constexpr int64_t kEvictWork = 12'000;      // for each block, at one capacity
constexpr int64_t kAllEvictWork = 200'000;  // for each block
constexpr int64_t kMostEvictWork = 3'000'000'000;
constexpr size_t kMuch = 100, kSome = 1000;  // a gap above a 100th of the goal gets much work, above a 1000th some

// Blocks that are alive in steps of their own: placed apart from the others.
struct Part {
  std::vector<int> members;
  std::vector<Block> blocks;
  size_t extent = 0;
  std::unique_ptr<PlaceSearch> search;
};

std::vector<Part> parts_of(std::span<const Block> blocks, const Placement& placement) {
  std::vector<int> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int i) { return std::pair(blocks[i].first, i); });
  std::vector<Part> parts;
  int last = -1;
  for (const int i : order) {
    if (parts.empty() || blocks[i].first > last) parts.emplace_back();
    last = std::max(last, blocks[i].last);
    Part& part = parts.back();
    part.members.push_back(i);
    part.blocks.push_back(blocks[i]);
    part.extent = std::max(part.extent, static_cast<size_t>(placement.offsets[i]) + blocks[i].bytes);
  }
  return parts;
}

// Searches for lower and lower placements of the parts that end too high.
class Descent {
 public:
  Descent(std::span<const Block> blocks, Placement& best, Meter& meter)
      : parts_(parts_of(blocks, best)), best_(best), meter_(meter) {
    for (const Block& block : blocks) unit_ = std::gcd(unit_, block.bytes);
  }

  // Whether the extent can be at most `capacity`; then it is. Else some parts may be lower than before.
  PlaceSearch::Answer fit(size_t capacity, int64_t work) {
    PlaceSearch::Answer answer = PlaceSearch::Answer::found;
    for (Part& part : parts_) {
      if (part.extent <= capacity) continue;
      if (!part.search) part.search = std::make_unique<PlaceSearch>(part.blocks);
      answer = part.search->fit(capacity, work, meter_);
      if (answer != PlaceSearch::Answer::found) break;
      const Placement& found = part.search->placement();
      for (size_t i = 0; i < part.members.size(); ++i) best_.offsets[part.members[i]] = found.offsets[i];
      part.extent = found.extent;
    }
    best_.extent = 0;
    for (const Part& part : parts_) best_.extent = std::max(best_.extent, part.extent);
    return answer;
  }

  // Tries the goal itself, with four times the work of another capacity, then halves of what is between it and the best
  // until a 32nd of the extent is left; again, each time half as coarse and with twice the work, until the meter is
  // exhausted.
  void run(size_t goal, int64_t work) {
    const auto searchable = [&](const Part& part) {
      return part.extent <= goal || PlaceSearch::is_worth(part.blocks, meter_.left());
    };
    if (!std::ranges::all_of(parts_, searchable)) return;
    for (int round = 0; best_.extent > goal && !meter_.spent(); ++round, work *= 2) {
      const size_t step = best_.extent >> std::min(5 + round, 63);
      for (size_t low = goal, target = goal; !meter_.spent();) {
        const PlaceSearch::Answer answer = fit(target, target == goal ? 4 * work : work);
        if (answer != PlaceSearch::Answer::found) low = (target / unit_ + 1) * unit_;
        if (answer == PlaceSearch::Answer::impossible) goal = best_.lower_bound = low;
        if (best_.extent <= low + step) break;
        target = low + (best_.extent - low) / 2 / unit_ * unit_;
      }
    }
  }

 private:
  std::vector<Part> parts_;
  Placement& best_;
  Meter& meter_;
  size_t unit_ = 0;  // extents are its multiples
};

// Goes down to the goal in steps of a fourth of what is above it, then, where that fails, smaller ones with more work.
void evict(std::span<const Block> blocks, size_t goal, Eviction::Weight weight, Placement& best, Meter& meter) {
  constexpr size_t kNear = 1000;  // a gap of which the goal itself is tried
  const Overlaps overlaps(blocks);
  Eviction eviction(overlaps, best, weight);
  eviction.place_largest_first(meter);
  best = eviction.placement();
  int64_t work = kEvictWork * std::ssize(blocks);
  for (size_t part = 4; best.extent > goal && !meter.spent();) {
    const size_t gap = best.extent - goal;
    const size_t target = part == 4 && gap < goal / kNear ? goal : best.extent - std::max(gap / part, size_t{1});
    if (eviction.fit(target, work, meter)) {
      best = eviction.placement();
    } else {
      part *= 4;
      work *= 2;
    }
  }
}

}  // namespace

size_t live_bytes_bound(std::span<const Block> blocks) {
  int end = 0;
  for (const Block& block : blocks) end = std::max(end, block.last + 1);
  std::vector<size_t> starts(end + 1, 0), stops(end + 1, 0);
  for (const Block& block : blocks) {
    if (block.last < block.first) continue;
    starts[block.first] += block.bytes;
    stops[block.last + 1] += block.bytes;
  }
  size_t live = 0, most = 0;
  for (int s = 0; s < end; ++s) {
    live += starts[s];
    live -= stops[s];
    most = std::max(most, live);
  }
  return most;
}

const Placement* SharedPlacing::find(const std::vector<Block>& blocks, size_t goal) const {
  const auto it = known_.find({blocks, goal});
  return it == known_.end() ? nullptr : &it->second;
}

void SharedPlacing::store(std::vector<Block> blocks, size_t goal, const Placement& placement, int64_t spent) {
  left_ -= std::clamp<int64_t>(spent, 0, left_);
  known_.emplace(std::pair(std::move(blocks), goal), placement);
}

Placement place(std::span<const Block> blocks, const PlaceLimits& limits) {
  std::optional<Meter::Clock::time_point> deadline;
  if (limits.seconds) {
    using Seconds = std::chrono::duration<double>;
    deadline = Meter::Clock::now() + std::chrono::duration_cast<Meter::Clock::duration>(Seconds(*limits.seconds));
  }
  std::vector<size_t> members;  // the others take no bytes
  std::vector<Block> taking;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].bytes == 0 || blocks[i].last < blocks[i].first) continue;
    members.push_back(i);
    taking.push_back(blocks[i]);
  }
  const size_t bound = live_bytes_bound(taking);
  const size_t goal = std::max(bound, limits.enough);
  Placement best = place_greedily(taking, goal);
  best.lower_bound = bound;
  const Placement* known = limits.shared ? limits.shared->find(taking, goal) : nullptr;
  if (known) {
    best = *known;
  } else if (best.extent > goal) {
    const size_t gap = best.extent - goal;
    const bool is_puzzle = fill_rectangle(taking);
    int64_t work = limits.work.value_or(gap > goal / kMuch ? kMuchWork : gap > goal / kSome ? kSomeWork : kLittleWork);
    if (limits.shared) work = limits.shared->lend(work);
    const bool may_spend_more = !limits.work && !limits.shared;
    const int64_t evict_work = std::min(kAllEvictWork * std::ssize(taking), kMostEvictWork);
    const Eviction::Weight weight = is_puzzle ? Eviction::kOfPuzzles : Eviction::kUsual;
    Meter meter(work, deadline);
    if (is_puzzle) {
      const int64_t part = may_spend_more ? std::min(kPuzzleWork * std::ssize(taking), kMostPuzzleWork) : work / 4;
      Meter own(may_spend_more ? part : part - part / 4, deadline);
      Meter some(may_spend_more ? evict_work / 2 : part / 4, deadline);
      const auto place_left = [&](std::span<const Block> left) {
        Placement placed = place_greedily(left, goal);
        if (placed.extent > goal) evict(left, goal, weight, placed, some);
        return placed;
      };
      Placement joined = place_pieces(taking, own, place_left);
      if (joined.extent < best.extent) best = std::move(joined);
      if (!may_spend_more) meter.spend(part - own.left() - some.left());
    }
    Descent(taking, best, meter).run(goal, std::min(work / 8, kFirstWork));
    Meter more(may_spend_more ? (is_puzzle ? evict_work / 4 : evict_work) : meter.left(), deadline);
    if (best.extent > goal) evict(taking, goal, weight, best, more);
    if (!may_spend_more) meter.spend(meter.left() - more.left());
    if (limits.shared) limits.shared->store(std::move(taking), goal, best, work - meter.left());
  }
  std::vector<int64_t> offsets(blocks.size(), 0);
  for (size_t i = 0; i < members.size(); ++i) offsets[members[i]] = best.offsets[i];
  best.offsets = std::move(offsets);
  return best;
}

}  // namespace neap::planner
