#include <algorithm>
#include <cmath>

#include "planner/place/place_state.h"

namespace neap::planner {

void PlaceSearch::State::set_lowest(int x, int64_t lowest) {
  const int64_t before = lowest_[x];
  block_trail_.emplace_back(x, before);
  lowest_[x] = lowest;
  for (int s = first_[x]; s < end_[x]; ++s) {
    if (!is_touched_[s]) {
      is_touched_[s] = 1, touched_.push_back(s);
      floor_trail_.push_back({s, floor_[s], choices_[s]});
    }
    choices_[s] -= before == floor_[s];
    highest_[s] = std::max(highest_[s], lowest);
  }
  work_ += 2 + end_[x] - first_[x];
}

void PlaceSearch::State::undo(size_t blocks, size_t floors) {
  for (; block_trail_.size() > blocks; block_trail_.pop_back()) {
    const auto [x, lowest] = block_trail_.back();
    if (lowest_[x] == kPlaced) {
      ++unplaced_;
      for (int s = first_[x]; s < end_[x]; ++s) {
        rest_[s] += size_[x];
        joined_[s] += s > first_[x];
        highest_[s] = std::max(highest_[s], lowest);
        if (placed_[s] > 0) placed_[s] = members_[s][placed_[s] - 1] == x ? placed_[s] - 1 : 0;
      }
    }
    lowest_[x] = lowest;
  }
  for (; floor_trail_.size() > floors; floor_trail_.pop_back()) {
    const Floor& old = floor_trail_.back();
    floor_[old.section] = old.floor;
    choices_[old.section] = old.choices;
  }
}

void PlaceSearch::State::fail(int s) {
  failures_[s] += 1;
  weight_[s] = 1 / std::sqrt(failures_[s]);
}

void PlaceSearch::State::find_floor(int s) {
  const std::span<const int> members = std::span(members_[s]).subspan(placed_[s]);
  int64_t floor = kEmpty;
  int choices = 0;
  for (const int x : members) {
    const int64_t lowest = lowest_[x];
    if (lowest == kPlaced || lowest > floor) continue;
    choices = lowest == floor ? choices + 1 : 1;
    floor = lowest;
  }
  work_ += std::ssize(members);
  floor_[s] = floor;
  choices_[s] = choices;
}

// Whether the unplaced members can still be stacked, each from its lowest offset: the higher ones alone are enough to
// end above the capacity if anything is.
bool PlaceSearch::State::update_floor(int s) {
  if (highest_[s] + rest_[s] <= capacity_) {
    if (choices_[s] == 0) find_floor(s);
    return true;
  }
  std::vector<int>& members = members_[s];
  const int count = static_cast<int>(members.size());
  int begin = placed_[s];
  for (int k = begin + 1; k < count; ++k) {  // hardly out of order
    const int x = members[k];
    int at = k;
    for (; at > begin && lowest_[members[at - 1]] > lowest_[x]; --at) members[at] = members[at - 1];
    members[at] = x;
    work_ += k - at;
  }
  work_ += 2 * (count - begin) + 4;
  while (begin < count && lowest_[members[begin]] == kPlaced) ++begin;
  placed_[s] = begin;
  highest_[s] = begin < count ? lowest_[members[count - 1]] : 0;
  int64_t above = 0, floor = kEmpty;
  int choices = 0;
  for (int k = count; k-- > begin;) {
    const int x = members[k];
    choices = lowest_[x] == floor ? choices + 1 : 1;
    floor = lowest_[x];
    above += size_[x];
    if (floor + above > capacity_) return false;
  }
  if (begin < count && lowest_[members[count - 1]] > capacity_ - rest_[s] && !raise_lowest(s)) return false;
  floor_[s] = floor;
  choices_[s] = choices;
  return true;
}

// No member can begin where those that cannot end below do not fit above it: it begins where the next of them can end.
// Whether all can begin somewhere. ("Not first" of one machine's schedules, as for Carlier and Pinson.)
bool PlaceSearch::State::raise_lowest(int s) {
  const std::span<const int> unplaced = std::span(members_[s]).subspan(placed_[s]);
  by_end_.clear();
  for (const int x : unplaced) by_end_.emplace_back(lowest_[x] + size_[x], size_[x]);
  std::ranges::sort(by_end_);
  work_ += 8 * std::ssize(by_end_);
  raised_.clear();
  int64_t above = rest_[s];  // of members that end above x's lowest offset, x included
  size_t below = 0;
  for (const int x : unplaced) {
    for (; by_end_[below].first <= lowest_[x]; ++below) above -= by_end_[below].second;
    if (lowest_[x] + above <= capacity_) continue;
    const int64_t end = lowest_[x] + size_[x];
    int64_t at = lowest_[x], rest = above;
    for (size_t i = below; i < by_end_.size() && at + rest + (at >= end ? size_[x] : 0) > capacity_; ++work_) {
      at = by_end_[i].first;
      for (; i < by_end_.size() && by_end_[i].first == at; ++i) rest -= by_end_[i].second;
    }
    if (at + size_[x] > capacity_) return false;
    raised_.emplace_back(x, at);
  }
  for (const auto& [x, at] : raised_) set_lowest(x, at);
  return true;
}

bool PlaceSearch::State::update_floors() {
  bool fits = true;
  for (size_t i = 0; i < touched_.size(); ++i) {
    const int s = touched_[i];
    is_touched_[s] = 0;
    if (fits && !update_floor(s)) {
      fits = false;
      fail(s);
    }
  }
  touched_.clear();
  return fits;
}

bool PlaceSearch::State::place_at_lowest(int x) {
  const int64_t top = lowest_[x] + size_[x];
  offset_[x] = lowest_[x];
  set_lowest(x, kPlaced);
  --unplaced_;
  for (int s = first_[x]; s < end_[x]; ++s) rest_[s] -= size_[x], joined_[s] -= s > first_[x];
  for (const int y : overlaps_[x]) {
    if (lowest_[y] != kPlaced && lowest_[y] < top) set_lowest(y, top);
  }
  work_ += static_cast<int64_t>(overlaps_[x].size());
  return update_floors();
}

// A block that cannot lie at its lowest offset, which all its sections have as floor, lies above one that is still to
// come and is alive outside its sections too: else it could change places with all that is below it. So do the blocks
// like it, for they could change places.
bool PlaceSearch::State::place_higher(int x) {
  const int64_t lowest = lowest_[x];
  int64_t next = kEmpty;
  for (const int y : overlaps_[x]) {
    if (lowest_[y] == kPlaced || (first_[y] >= first_[x] && end_[y] <= end_[x])) continue;
    next = std::min(next, lowest_[y] + size_[y]);
  }
  work_ += static_cast<int64_t>(overlaps_[x].size());
  if (next == kEmpty) return false;
  int twin = x;
  do {
    if (lowest_[twin] == lowest) set_lowest(twin, next);
    twin = twin_[twin];
  } while (twin != x);
  return update_floors();
}

}  // namespace neap::planner
