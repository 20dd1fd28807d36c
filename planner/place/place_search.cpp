#include "planner/place/place_search.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "planner/place/place_state.h"

namespace neap::planner {

namespace {

// How soon the search for tests/data/minimalloc comes to an end (`neap-plan place`) tells how good these are.
constexpr int64_t kFirstTries = 1000;       // blocks tried before the search starts anew
constexpr double kRemember = 0.95;          // share of the failures that the next search knows
constexpr double kSlackChoices = 20;        // choices that a capacity which is all free counts as
constexpr int64_t kWorkOfPair = 4;          // units to set up a pair of blocks that are alive together
constexpr int64_t kMostPairs = 20'000'000;  // pairs, for their memory: 8 bytes each

// 1 1 2 1 1 2 4 1 1 2 ...: good lengths of searches that start anew when nothing is known of them (Luby et al., 1993).
int64_t luby(uint64_t i) {
  const uint64_t half = uint64_t{1} << (std::bit_width(i) - 1);
  return i == 2 * half - 1 ? static_cast<int64_t>(half) : luby(i - half + 1);
}

}  // namespace

bool Meter::spent() {
  if (left_ <= 0 || late_) return true;
  if (!deadline_ || left_ > look_) return false;
  look_ = left_ - kLookEvery;
  return late_ = Clock::now() >= *deadline_;
}

// Where floors are lower than their neighbours: fewest choices for the failures seen. Leaving room is a choice too.
int PlaceSearch::State::most_constrained_section(int from, int to) {
  const double scale = kSlackChoices / static_cast<double>(std::max<int64_t>(1, capacity_));
  int best = -1;
  double least = std::numeric_limits<double>::max();
  for (int begin = from, end = from; begin < to; begin = end) {
    const int64_t floor = floor_[begin];
    for (end = begin + 1; end < to && floor_[end] == floor;) ++end;
    if (floor == kEmpty || (begin > from && floor_[begin - 1] < floor) || (end < to && floor_[end] < floor)) continue;
    for (int s = begin; s < end; ++s) {
      const int64_t slack = capacity_ - floor - rest_[s];
      const double choices = choices_[s] + (slack > 0 ? 1 + scale * static_cast<double>(slack) : 0);
      if (choices * weight_[s] < least) least = choices * weight_[s], best = s;
    }
  }
  work_ += to - from;
  return best;
}

// Stays where the last block was placed, as long as there are others.
PlaceSearch::State::Frame PlaceSearch::State::next_frame() {
  const int count = static_cast<int>(floor_.size());
  int section = frames_.empty() ? -1 : most_constrained_section(frames_.back().begin, frames_.back().end);
  if (section < 0) section = most_constrained_section(0, count);
  int begin = section, end = section + 1;
  while (begin > 0 && joined_[begin] > 0) --begin;
  while (end < count && joined_[end] > 0) ++end;
  work_ += end - begin;
  return {section, begin, end, -1, block_trail_.size(), floor_trail_.size(), 0, 0};
}

// Of the blocks that can lie on the floor: best, one that fills it from wall to wall, whatever is next to it; then one
// that makes it level with a wall; then by rank.
int PlaceSearch::State::best_choice(int s) {
  const int64_t floor = floor_[s];
  const int count = static_cast<int>(floor_.size());
  int begin = s, end = s + 1;
  while (begin > 0 && floor_[begin - 1] == floor) --begin;
  while (end < count && floor_[end] == floor) ++end;
  work_ += end - begin;
  int best = -1;
  std::pair<int, int> most;
  for (const int x : members_[s]) {
    if (lowest_[x] != floor) continue;
    const bool left = first_[x] == begin, right = end_[x] == end;
    const int64_t top = floor + size_[x];
    const bool level = (left && begin > 0 && top == floor_[begin - 1]) || (right && end < count && top == floor_[end]);
    const std::pair fit((left && right ? 2 : 0) + (level ? 1 : 0), rank_[x]);
    if (best < 0 || fit > most) best = x, most = fit;
  }
  return best;
}

// Depth first until all are placed, all is tried, or `tries` blocks were placed.
PlaceSearch::Answer PlaceSearch::State::search(int64_t tries, Meter& meter, int64_t stop) {
  frames_.clear();
  bool descend = true;
  while (unplaced_ > 0) {
    if (descend) {
      frames_.push_back(next_frame());
    }
    meter.spend(std::exchange(work_, 0));
    if (--tries < 0 || meter.left() < stop || meter.spent()) return Answer::gave_up;
    Frame& top = frames_.back();
    top.block = best_choice(top.section);
    top.tried_blocks = block_trail_.size(), top.tried_floors = floor_trail_.size();
    descend = place_at_lowest(top.block);
    if (descend) continue;
    // The block cannot lie there: the last frame that has another choice takes it, of those that have to do with it.
    int begin = top.begin, end = top.end;
    while (!frames_.empty()) {
      Frame& last = frames_.back();
      const bool matters = last.begin < end && begin < last.end;
      if (matters) begin = last.begin, end = last.end;
      if (matters && last.block >= 0) {
        undo(last.tried_blocks, last.tried_floors);
        const int64_t before = floor_[last.section];
        if (place_higher(last.block)) {
          descend = floor_[last.section] != before;
          if (descend) last.block = -1;
          break;
        }
      }
      undo(last.blocks, last.floors);
      frames_.pop_back();
    }
    if (frames_.empty()) return Answer::impossible;
  }
  return Answer::found;
}

PlaceSearch::Answer PlaceSearch::State::fit(size_t capacity, int64_t work, Meter& meter) {
  capacity_ = static_cast<int64_t>(capacity);
  const int64_t stop = std::max<int64_t>(0, meter.left() - work);
  for (const int64_t total : total_) {
    if (total > capacity_) return Answer::impossible;
  }
  while (true) {
    for (double& failures : failures_) failures = 1 + (failures - 1) * kRemember;
    choose_ranks();
    const Answer answer = search(kFirstTries * luby(++searches_), meter, stop);
    if (answer == Answer::found) {
      placement.offsets = offset_;
      placement.extent = 0;
      for (size_t i = 0; i < size_.size(); ++i) {
        placement.extent = std::max(placement.extent, static_cast<size_t>(offset_[i] + size_[i]));
      }
    }
    undo(0, 0);
    if (answer != Answer::gave_up || meter.left() < stop || meter.spent()) return answer;
  }
}

PlaceSearch::PlaceSearch(std::span<const Block> blocks) : state_(std::make_unique<State>(blocks)) {}
PlaceSearch::~PlaceSearch() = default;

PlaceSearch::Answer PlaceSearch::fit(size_t capacity, int64_t work, Meter& meter) {
  return state_->fit(capacity, work, meter);
}

const Placement& PlaceSearch::placement() const { return state_->placement; }

bool PlaceSearch::is_worth(std::span<const Block> blocks, int64_t work) {
  std::vector<int> firsts, ends;
  for (const Block& block : blocks) firsts.push_back(block.first), ends.push_back(block.last + 1);
  std::ranges::sort(firsts);
  std::ranges::sort(ends);
  int64_t pairs = 0;
  size_t ended = 0;  // a block meets those that began before it and have not ended
  for (size_t i = 0; i < firsts.size(); ++i) {
    while (ends[ended] <= firsts[i]) ++ended;
    pairs += static_cast<int64_t>(i - ended);
  }
  return pairs <= std::min(work / kWorkOfPair, kMostPairs);
}

}  // namespace neap::planner
