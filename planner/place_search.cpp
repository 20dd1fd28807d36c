#include "planner/place_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>

namespace neap::planner {

namespace {

constexpr int64_t kPlaced = -1;                                  // as lowest offset of a block
constexpr int64_t kEmpty = std::numeric_limits<int64_t>::max();  // as floor of a section without unplaced blocks
constexpr int64_t kFirstTries = 1000;                            // blocks tried before the search starts anew
constexpr double kRemember = 0.95;                               // of the failures, from search to search
constexpr double kSlackChoices = 20;                             // choices that a free capacity counts as
constexpr int64_t kWorkOfPair = 4;                               // of blocks alive together, to begin with
constexpr int64_t kMostPairs = 20'000'000;                       // for their memory

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

class PlaceSearch::State {
 public:
  explicit State(std::span<const Block> blocks);
  Answer fit(size_t capacity, int64_t work, Meter& meter);

  Placement placement;

 private:
  struct Frame {
    int section;
    int block;                          // tried there; -1: all were, what is deeper is the branch without them
    size_t blocks, floors;              // changes before the frame
    size_t tried_blocks, tried_floors;  // and before the block was tried
  };
  struct Floor {
    int section;
    int64_t floor;
    int choices;
  };

  void find_sections(std::span<const Block> blocks);
  void find_twins();
  void choose_ranks();
  Answer search(int64_t tries, Meter& meter, int64_t stop);
  bool place_at_lowest(int x);
  bool place_higher(int x);
  bool update_floors();
  bool update_floor(int s);
  void fail(int s);
  void set_lowest(int x, int64_t lowest);
  void undo(size_t blocks, size_t floors);
  int most_constrained_section();
  int best_choice(int s) const;

  // Of each block.
  std::vector<int64_t> size_, lowest_, offset_;
  std::vector<int> first_, end_;  // sections
  std::vector<int> twin_;         // the next block like it; the last one's is the first
  std::vector<int> rank_;         // higher is tried first
  std::vector<std::vector<int>> overlaps_;
  // Of each section.
  std::vector<std::vector<int>> members_;  // by lowest offset, when last looked at
  std::vector<int64_t> floor_, rest_, total_;
  std::vector<int> placed_;   // of the members, those at the front; the last placed is the last of them
  std::vector<int> choices_;  // unplaced members whose lowest offset is the floor
  std::vector<double> failures_, weight_;

  std::vector<std::pair<int, int64_t>> block_trail_;
  std::vector<Floor> floor_trail_;
  std::vector<Frame> frames_;
  std::vector<int> touched_;
  std::vector<char> is_touched_;
  std::minstd_rand random_{1};
  uint64_t searches_ = 0;
  size_t unplaced_ = 0;
  int64_t capacity_ = 0;
  int64_t work_ = 0;  // since the meter was told
};

PlaceSearch::State::State(std::span<const Block> blocks) {
  const size_t n = blocks.size();
  for (const Block& block : blocks) size_.push_back(static_cast<int64_t>(block.bytes));
  lowest_.assign(n, 0), offset_.assign(n, 0), rank_.assign(n, 0);
  unplaced_ = n;
  find_sections(blocks);
  find_twins();
  const size_t count = members_.size();
  floor_.assign(count, 0), rest_.assign(count, 0), choices_.assign(count, 0), placed_.assign(count, 0);
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

void PlaceSearch::State::set_lowest(int x, int64_t lowest) {
  block_trail_.emplace_back(x, lowest_[x]);
  lowest_[x] = lowest;
  for (int s = first_[x]; s < end_[x]; ++s) {
    if (!is_touched_[s]) is_touched_[s] = 1, touched_.push_back(s);
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
        if (placed_[s] > 0 && members_[s][placed_[s] - 1] == x) --placed_[s];
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

// Whether the unplaced members can still be stacked, each from its lowest offset: the higher ones alone are enough to
// end above the capacity if anything is.
bool PlaceSearch::State::update_floor(int s) {
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
  int64_t above = 0, floor = kEmpty;
  int choices = 0;
  for (int k = count; k-- > begin;) {
    const int x = members[k];
    choices = lowest_[x] == floor ? choices + 1 : 1;
    floor = lowest_[x];
    above += size_[x];
    if (floor + above > capacity_) return false;
  }
  if (floor != floor_[s] || choices != choices_[s]) {
    floor_trail_.push_back({s, floor_[s], choices_[s]});
    floor_[s] = floor;
    choices_[s] = choices;
  }
  return true;
}

bool PlaceSearch::State::update_floors() {
  bool fits = true;
  for (const int s : touched_) {
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
  for (int s = first_[x]; s < end_[x]; ++s) rest_[s] -= size_[x];
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

// Where floors are lower than their neighbours: fewest choices for the failures seen. Leaving room is a choice too.
int PlaceSearch::State::most_constrained_section() {
  const int count = static_cast<int>(floor_.size());
  const double scale = kSlackChoices / static_cast<double>(std::max<int64_t>(1, capacity_));
  int best = -1;
  double least = std::numeric_limits<double>::max();
  for (int begin = 0, end = 0; begin < count; begin = end) {
    const int64_t floor = floor_[begin];
    for (end = begin + 1; end < count && floor_[end] == floor;) ++end;
    if (floor == kEmpty || (begin > 0 && floor_[begin - 1] < floor) || (end < count && floor_[end] < floor)) continue;
    for (int s = begin; s < end; ++s) {
      const int64_t slack = capacity_ - floor - rest_[s];
      const double choices = choices_[s] + (slack > 0 ? 1 + scale * static_cast<double>(slack) : 0);
      if (choices * weight_[s] < least) least = choices * weight_[s], best = s;
    }
  }
  work_ += count;
  return best;
}

int PlaceSearch::State::best_choice(int s) const {
  int best = -1;
  for (const int x : members_[s]) {
    if (lowest_[x] == floor_[s] && (best < 0 || rank_[x] > rank_[best])) best = x;
  }
  return best;
}

// Orders in which blocks are tried: by the fullest section or that with the most failures, length, area or size, each
// after the other, more or less shuffled.
void PlaceSearch::State::choose_ranks() {
  const size_t n = size_.size();
  const auto roll = [&] { return static_cast<double>(random_()) / static_cast<double>(random_.max()); };
  const int rule = static_cast<int>(random_() % 6);
  constexpr double kShuffle[] = {0, 0.02, 0.05, 0.1};
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

// Depth first until all are placed, all is tried, or `tries` blocks were placed.
PlaceSearch::Answer PlaceSearch::State::search(int64_t tries, Meter& meter, int64_t stop) {
  frames_.clear();
  bool descend = true;
  while (unplaced_ > 0) {
    if (descend) {
      frames_.push_back({most_constrained_section(), -1, block_trail_.size(), floor_trail_.size(), 0, 0});
    }
    meter.spend(std::exchange(work_, 0));
    if (--tries < 0 || meter.left() < stop || meter.spent()) return Answer::gave_up;
    Frame& top = frames_.back();
    top.block = best_choice(top.section);
    top.tried_blocks = block_trail_.size(), top.tried_floors = floor_trail_.size();
    descend = place_at_lowest(top.block);
    if (descend) continue;
    // The block cannot lie there: the last frame that has another choice takes it.
    while (!frames_.empty()) {
      Frame& last = frames_.back();
      if (last.block >= 0) {
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
