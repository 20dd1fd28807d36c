#include "planner/place/place_state.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace neap::planner {

PlaceSearch::State::State(std::span<const Block> blocks) {
  const size_t n = blocks.size();
  for (const Block& block : blocks) size_.push_back(static_cast<int64_t>(block.bytes));
  lowest_.assign(n, 0), offset_.assign(n, 0), rank_.assign(n, 0);
  unplaced_ = n;
  find_sections(blocks);
  find_twins();
  const size_t count = members_.size();
  floor_.assign(count, 0), rest_.assign(count, 0), choices_.assign(count, 0), highest_.assign(count, 0),
      placed_.assign(count, 0);
  failures_.assign(count, 1), weight_.assign(count, 1), is_touched_.assign(count, 0);
  overlaps_.resize(n);
  for (size_t s = 0; s < count; ++s) {
    choices_[s] = static_cast<int>(members_[s].size());
    for (const int i : members_[s]) rest_[s] += size_[i];
    for (const int i : members_[s]) {
      if (first_[i] != static_cast<int>(s)) continue;  // pairs that meet here for the first time
      for (const int j : members_[s]) {
        if (j == i || (first_[j] == first_[i] && j < i)) continue;
        overlaps_[i].push_back(j), overlaps_[j].push_back(i);
      }
    }
  }
  total_ = rest_;
  joined_.assign(count, 0);
  for (size_t i = 0; i < n; ++i) {
    for (int s = first_[i] + 1; s < end_[i]; ++s) ++joined_[s];
  }
}

// A section ends where a block ends, if one began since the last section: its members are alive together, and no other
// section has them all.
void PlaceSearch::State::find_sections(std::span<const Block> blocks) {
  std::map<int, std::pair<bool, bool>> events;  // step: blocks begin there, blocks end before it
  for (const Block& block : blocks) events[block.first].first = events[block.last + 1].second = true;
  std::vector<int> ends;
  bool begun = false;
  for (const auto& [step, event] : events) {
    if (event.second && begun) ends.push_back(step), begun = false;
    begun = begun || event.first;
  }
  members_.resize(ends.size());
  const auto sections_before = [&](int step) {
    return static_cast<int>(std::ranges::upper_bound(ends, step) - ends.begin());
  };
  for (size_t i = 0; i < blocks.size(); ++i) {
    first_.push_back(sections_before(blocks[i].first));
    end_.push_back(sections_before(blocks[i].last + 1));
    for (int s = first_[i]; s < end_[i]; ++s) members_[s].push_back(static_cast<int>(i));
  }
}

void PlaceSearch::State::find_twins() {
  std::map<std::tuple<int, int, int64_t>, std::vector<int>> kinds;
  for (size_t i = 0; i < size_.size(); ++i) kinds[{first_[i], end_[i], size_[i]}].push_back(static_cast<int>(i));
  twin_.resize(size_.size());
  for (const auto& [kind, list] : kinds) {
    for (size_t k = 0; k < list.size(); ++k) twin_[list[k]] = list[(k + 1) % list.size()];
  }
}

// Orders in which blocks are tried: by the fullest section or that with the most failures, length, area or size, each
// after the other, more or less shuffled.
void PlaceSearch::State::choose_ranks() {
  const size_t n = size_.size();
  const auto roll = [&] { return static_cast<double>(random_()) / static_cast<double>(random_.max()); };
  const int rule = static_cast<int>(random_() % 6);
  constexpr double kShuffle[] = {0, 0.02, 0.05, 0.1};  // shares of the order by which a block may move
  const double shuffle = kShuffle[random_() % 4] * static_cast<double>(n);
  std::vector<std::tuple<double, double, double>> keys(n);
  for (size_t i = 0; i < n; ++i) {
    double fullest = 0, failures = 0;
    for (int s = first_[i]; s < end_[i]; ++s) {
      fullest = std::max(fullest, static_cast<double>(total_[s]));
      failures = std::max(failures, failures_[s]);
    }
    const double length = end_[i] - first_[i], size = static_cast<double>(size_[i]), area = length * size;
    switch (rule) {
      case 0: keys[i] = {fullest, length, area}; break;
      case 1: keys[i] = {fullest, area, length}; break;
      case 2: keys[i] = {length, area, fullest}; break;
      case 3: keys[i] = {size, length, 0}; break;
      case 4: keys[i] = {area, length, 0}; break;
      default: keys[i] = {failures, length, area}; break;
    }
  }
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int i) { return std::pair(keys[i], i); });
  std::vector<double> place(n);
  for (size_t r = 0; r < n; ++r) place[order[r]] = static_cast<double>(r) + shuffle * roll();
  std::ranges::sort(order, {}, [&](int i) { return std::pair(place[i], i); });
  for (size_t r = 0; r < n; ++r) rank_[order[r]] = static_cast<int>(r);
  work_ += static_cast<int64_t>(n) * 64;
}

}  // namespace neap::planner
