#include "planner/place/place_fit.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

namespace neap::planner {

namespace {

// These bound the time of placing, which is quadratic in the blocks but for sweeps; neap-plan-speed measures it.
constexpr double kImproveWork = 4e5;  // pairs of blocks that are looked at to improve an order
constexpr double kMostTries = 500;    // orders
constexpr size_t kManyBlocks = 4000;  // above, sweeps and one order of placing
constexpr size_t kTooMany = 20'000;   // above, sweeps

// Places blocks one after the other in the gap between those placed before that are alive with them.
Placement place_in_order(std::span<const Block> blocks, const std::vector<int>& order, bool best_fit) {
  Placement result;
  result.offsets.assign(blocks.size(), 0);
  struct Placed {
    size_t begin, end;
    int first, last;
  };
  std::vector<Placed> placed;  // by begin
  placed.reserve(blocks.size());
  for (const int i : order) {
    const Block& block = blocks[i];
    if (block.bytes == 0) continue;
    size_t at = 0, best = std::numeric_limits<size_t>::max(), slack = best;
    for (const Placed& other : placed) {
      if (other.last < block.first || other.first > block.last) continue;
      if (other.begin >= at + block.bytes && other.begin - at - block.bytes < slack) {
        best = at;
        slack = best_fit ? other.begin - at - block.bytes : 0;
        if (!best_fit) break;
      }
      at = std::max(at, other.end);
    }
    if (best == std::numeric_limits<size_t>::max()) best = at;
    result.offsets[i] = static_cast<int64_t>(best);
    result.extent = std::max(result.extent, best + block.bytes);
    const Placed now{best, best + block.bytes, block.first, block.last};
    placed.insert(std::ranges::upper_bound(placed, best, {}, &Placed::begin), now);
  }
  return result;
}

// The parts of the arena that nobody uses; the last one has no end.
class Gaps {
 public:
  Gaps() { add(0, kEnd); }

  // Takes bytes from the smallest gap that has them.
  size_t take(size_t bytes) {
    const auto [size, begin] = *by_size_.lower_bound({bytes, 0});
    const size_t end = begin + size;
    remove(begin);
    if (bytes < size) add(begin + bytes, end);
    return begin;
  }
  void give(size_t begin, size_t end) {
    if (const auto next = by_begin_.find(end); next != by_begin_.end()) {
      end = next->second;
      remove(next->first);
    }
    if (auto at = by_begin_.lower_bound(begin); at != by_begin_.begin() && (--at)->second == begin) {
      begin = at->first;
      remove(begin);
    }
    add(begin, end);
  }

 private:
  static constexpr size_t kEnd = std::numeric_limits<size_t>::max();
  void add(size_t begin, size_t end) {
    by_begin_.emplace(begin, end);
    by_size_.emplace(end - begin, begin);
  }
  void remove(size_t begin) {
    const auto at = by_begin_.find(begin);
    by_size_.erase({at->second - begin, begin});
    by_begin_.erase(at);
  }

  std::map<size_t, size_t> by_begin_;            // begin to end
  std::set<std::pair<size_t, size_t>> by_size_;  // size and begin
};

// Sweeps through the steps, forward or back: a block takes a gap where it starts and leaves one where it ends. Of those
// that start together the longest-lived are the first, or the largest. Those of `stack` lie from 0 on and are there
// from the beginning. The time is that of sorting, however many blocks are alive together.
void sweep(std::span<const Block> blocks, std::vector<int> starts, const std::vector<int>& stack, bool forward,
           bool longest_first, Placement& result) {
  const auto start = [&](int i) { return forward ? blocks[i].first : -blocks[i].last; };
  const auto stop = [&](int i) { return forward ? blocks[i].last : -blocks[i].first; };
  std::vector<int> stops = starts;
  stops.insert(stops.end(), stack.begin(), stack.end());
  std::ranges::sort(starts, {},
                    [&](int i) { return std::tuple(start(i), longest_first ? -stop(i) : 0, ~blocks[i].bytes, i); });
  std::ranges::sort(stops, {}, [&](int i) { return std::pair(stop(i), i); });
  Gaps gaps;
  for (const int i : stack) gaps.take(blocks[i].bytes);
  size_t stopped = 0;
  for (const int i : starts) {
    for (; stop(stops[stopped]) < start(i); ++stopped) {
      const auto begin = static_cast<size_t>(result.offsets[stops[stopped]]);
      gaps.give(begin, begin + blocks[stops[stopped]].bytes);
    }
    const size_t begin = gaps.take(blocks[i].bytes);
    result.offsets[i] = static_cast<int64_t>(begin);
    result.extent = std::max(result.extent, begin + blocks[i].bytes);
  }
}

// The blocks that take bytes.
std::vector<int> taking(std::span<const Block> blocks) {
  std::vector<int> all;
  for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
    if (blocks[i].bytes > 0 && blocks[i].last >= blocks[i].first) all.push_back(i);
  }
  return all;
}

Placement sweep(std::span<const Block> blocks, bool forward, bool longest_first) {
  Placement result;
  result.offsets.assign(blocks.size(), 0);
  sweep(blocks, taking(blocks), {}, forward, longest_first, result);
  return result;
}

// The first step during which most bytes are alive.
int peak_step(std::span<const Block> blocks) {
  std::map<int, int64_t> growth;
  for (const Block& block : blocks) {
    growth[block.first] += static_cast<int64_t>(block.bytes);
    growth[block.last + 1] -= static_cast<int64_t>(block.bytes);
  }
  int peak_at = 0;
  int64_t live = 0, most = 0;
  for (const auto& [step, bytes] : growth) {
    live += bytes;
    if (live > most) most = live, peak_at = step;
  }
  return peak_at;
}

enum class Reach : uint8_t { later, earlier, both };

// Sweeps from the peak step to both ends: the blocks alive there lie one on the other, those below that reach far.
Placement sweep_from_peak(std::span<const Block> blocks, Reach reach) {
  const int peak_at = peak_step(blocks);
  std::vector<int> stack, later, earlier;
  for (const int i : taking(blocks)) {
    (blocks[i].first > peak_at ? later : blocks[i].last < peak_at ? earlier : stack).push_back(i);
  }
  std::ranges::sort(stack, {}, [&](int i) {
    const int before = peak_at - blocks[i].first, after = blocks[i].last - peak_at;
    const int far = reach == Reach::later ? after : reach == Reach::earlier ? before : std::min(before, after);
    return std::tuple(-far, -(before + after), i);
  });
  Placement result;
  result.offsets.assign(blocks.size(), 0);
  for (const int i : stack) {
    result.offsets[i] = static_cast<int64_t>(result.extent);
    result.extent += blocks[i].bytes;
  }
  sweep(blocks, std::move(later), stack, true, true, result);
  sweep(blocks, std::move(earlier), stack, false, true, result);
  return result;
}

// Orders that fail say which block ends too high: that one is placed earlier, at random how much, and so on from the
// better order. The same plan gets the same placement: the generator starts the same.
void improve(std::span<const Block> blocks, std::vector<int> order, size_t goal, Placement& best) {
  const auto n = static_cast<double>(std::max<size_t>(1, blocks.size()));
  const auto tries = static_cast<int>(std::clamp(kImproveWork / (n * n), 0.0, kMostTries));
  std::minstd_rand random(1);
  Placement now = place_in_order(blocks, order, true);
  for (int i = 0; i < tries && best.extent > goal; ++i) {
    std::vector<size_t> top;
    for (size_t at = 0; at < order.size(); ++at) {
      const int b = order[at];
      if (static_cast<size_t>(now.offsets[b]) + blocks[b].bytes == now.extent) top.push_back(at);
    }
    const auto from = static_cast<std::ptrdiff_t>(top[random() % top.size()]);
    const auto to = static_cast<std::ptrdiff_t>(random() % (static_cast<size_t>(from) + 1));
    std::vector<int> candidate = order;
    std::rotate(candidate.begin() + to, candidate.begin() + from, candidate.begin() + from + 1);
    Placement next = place_in_order(blocks, candidate, true);
    if (next.extent < best.extent) best = next;
    if (next.extent <= now.extent || random() % 16 == 0) {
      now = std::move(next);
      order = std::move(candidate);
    }
  }
}

}  // namespace

Placement place_greedily(std::span<const Block> blocks, size_t goal) {
  const auto area = [&](int i) {
    return static_cast<double>(blocks[i].bytes) * (blocks[i].last - blocks[i].first + 1);
  };
  const std::vector<std::function<bool(int, int)>> orders = {
      [&](int a, int b) { return blocks[a].bytes > blocks[b].bytes; },
      [&](int a, int b) { return area(a) > area(b); },
      [&](int a, int b) { return blocks[a].first < blocks[b].first; },
      [&](int a, int b) { return blocks[a].last - blocks[a].first > blocks[b].last - blocks[b].first; },
      [&](int a, int b) { return blocks[a].last > blocks[b].last; },
  };
  Placement best;
  std::vector<int> best_order;  // of orders, not sweeps
  size_t ordered = std::numeric_limits<size_t>::max();
  best.extent = std::numeric_limits<size_t>::max();
  for (const bool longest_first : {true, false}) {
    for (const bool forward : {true, false}) {
      Placement candidate = sweep(blocks, forward, longest_first);
      if (candidate.extent < best.extent) best = std::move(candidate);
      if (best.extent <= goal) return best;
    }
  }
  for (const Reach reach : {Reach::later, Reach::earlier, Reach::both}) {
    Placement candidate = sweep_from_peak(blocks, reach);
    if (candidate.extent < best.extent) best = std::move(candidate);
    if (best.extent <= goal) return best;
  }
  if (blocks.size() > kTooMany) return best;
  for (const auto& before : orders) {
    std::vector<int> order(blocks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](int a, int b) { return before(a, b) || (!before(b, a) && a < b); });
    for (const bool best_fit : {true, false}) {
      Placement candidate = place_in_order(blocks, order, best_fit);
      if (candidate.extent < ordered) {
        ordered = candidate.extent;
        best_order = order;
      }
      if (candidate.extent < best.extent) best = std::move(candidate);
      if (best.extent <= goal) return best;
    }
    if (blocks.size() > kManyBlocks) break;
  }
  if (!best_order.empty()) improve(blocks, std::move(best_order), goal, best);
  return best;
}

}  // namespace neap::planner
