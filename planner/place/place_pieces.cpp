#include "planner/place/place_pieces.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/place/place_matches.h"

namespace neap::planner {

namespace {

// How many of the tests' cut rectangles come together, and how soon, tells how good these are.
constexpr double kDoubtOfMember = 0.5;        // in powers of two: of a match with one member more
constexpr double kLeastLuck = 0.05;           // of random scores
constexpr int kMostApart = 34;                // pieces taken apart at once
constexpr int kSearchable = 500;              // pieces
constexpr int64_t kFirstRound = 100'000'000;  // of other ways to join, before what is left is searched
constexpr int64_t kWorkOfChange = 200, kWorkOfSum = 60, kWorkOfTry = 2000, kWorkOfLook = 4;

template <class Key>
std::vector<std::vector<int>> group_by(std::vector<int> pieces, Key key) {
  std::ranges::sort(pieces, {}, [&](int i) { return std::pair(key(i), i); });
  std::vector<std::vector<int>> groups;
  for (const int i : pieces) {
    if (groups.empty() || key(groups.back()[0]) != key(i)) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

std::vector<int> members_of(const GroupSum& sum, const std::vector<std::vector<int>>& groups) {
  std::vector<int> members;
  for (size_t i = 0; i < groups[sum.group].size() && i < 64; ++i) {
    if (sum.members >> i & 1) members.push_back(groups[sum.group][i]);
  }
  return members;
}

}  // namespace

Pieces::Pieces(std::span<const Block> blocks, Doubt doubt) : num_blocks_(blocks.size()), doubt_(doubt) {
  int end = 0;
  for (const Block& block : blocks) end = std::max(end, block.last + 1);
  starts_.resize(end + 1);
  stops_.resize(end + 1);
  matches_.resize(end + 1);
  versions_.assign(end + 1, 0);
  is_touched_.assign(end + 1, 0);
  for (const Block& block : blocks) add({block, {}});
}

void Pieces::touch(int step) {
  if (!is_touched_[step]) is_touched_[step] = 1, touched_.push_back(step);
}

// The piece is one of those that are left.
void Pieces::leave(int piece) {
  const Block& block = pieces_[piece].block;
  pieces_[piece].is_left = true;
  ++count_;
  around_.push_back(block.last + 1);
  for (const int step : {block.first, block.last + 1}) {
    touch(step);
    for (const int other : starts_[step]) around_.push_back(pieces_[other].block.last + 1);
  }
  starts_[block.first].push_back(piece);
  stops_[block.last + 1].push_back(piece);
  work_ += kWorkOfChange;
}

// It no longer is.
void Pieces::take(int piece) {
  const Block& block = pieces_[piece].block;
  pieces_[piece].is_left = false;
  --count_;
  std::erase(starts_[block.first], piece);
  std::erase(stops_[block.last + 1], piece);
  touch(block.first);
  touch(block.last + 1);
}

int Pieces::add(Piece piece) {
  const int id = static_cast<int>(pieces_.size());
  for (const Part& part : piece.parts) take(part.piece);
  if (!piece.parts.empty()) changes_.push_back({id, false});
  pieces_.push_back(std::move(piece));
  leave(id);
  return id;
}

int Pieces::stack(const Group& group) {
  if (group.size() == 1) return group[0];
  Piece whole{pieces_[group[0]].block, {}};
  whole.block.bytes = 0;
  for (const int piece : group) {
    whole.parts.push_back({piece, whole.block.bytes});
    whole.block.bytes += bytes(piece);
  }
  return add(std::move(whole));
}

void Pieces::apply(const Match& match) {
  if (match.is_pinwheel) {
    const auto [first, second, middle, fourth, fifth] =
        std::tuple(match.before[0], match.before[1], match.before[2], match.before[3], match.before[4]);
    const size_t low = bytes(first);
    add({{pieces_[first].block.first, pieces_[second].block.last, low + bytes(fourth)},
         {{first, 0}, {second, 0}, {middle, low}, {fourth, low}, {fifth, bytes(second)}}});
    return;
  }
  const int before = stack(match.before), after = stack(match.after);
  add({{pieces_[before].block.first, pieces_[after].block.last, bytes(before)}, {{before, 0}, {after, 0}}});
}

std::vector<Pieces::Group> Pieces::starting(int step) const {
  return group_by(starts_[step], [&](int i) { return pieces_[i].block.last; });
}

std::vector<Pieces::Group> Pieces::ending(int step) const {
  return group_by(stops_[step], [&](int i) { return pieces_[i].block.first; });
}

// Of what starts with them, and of what ends with them: 2 where they have both to themselves.
double Pieces::share(const Group& group) const {
  const Block& block = pieces_[group[0]].block;
  const auto size = static_cast<double>(group.size());
  return size / static_cast<double>(starts_[block.first].size()) +
         size / static_cast<double>(stops_[block.last + 1].size());
}

// Finds the best match at the step: many bytes of few pieces are least likely the same by chance.
void Pieces::look_at(int step) {
  matches_[step] = {};
  ++versions_[step];
  const std::vector<Group> after = starting(step), before = ending(step);
  double most = 0;
  for (const Group& group : after) most = std::max(most, group.size() > 1 ? share(group) : 0);
  if (most > 0) alike_.push({most, step, versions_[step]});
  if (before.empty() || after.empty()) return;
  const auto sums = [&](const std::vector<Group>& groups) {
    std::vector<std::vector<size_t>> sizes(groups.size());
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const int piece : groups[g]) sizes[g].push_back(bytes(piece));
    }
    return group_sums(sizes);
  };
  const std::vector<GroupSum> sums_before = sums(before), sums_after = sums(after);
  work_ += kWorkOfSum * static_cast<int64_t>(sums_before.size() + sums_after.size());
  double best = 0;
  const double pairs =
      doubt_ == Doubt::crowds ? static_cast<double>(sums_before.size()) * static_cast<double>(sums_after.size()) : 1;
  const auto score = [&](size_t bytes, int members) {
    double s = static_cast<double>(bytes) / pairs * std::exp2(-kDoubtOfMember * members);
    if (at_random_) s *= kLeastLuck + static_cast<double>(random_() % 1024) / 1024;
    best = std::max(best, s);
    return s;
  };
  const auto [one, other] = best_match(sums_before, sums_after, score);
  if (!one) return;
  matches_[step] = {members_of(*one, before), members_of(*other, after)};
  candidates_.push({best, step, versions_[step]});
}

// Five pieces around a middle, no two of which make a rectangle: the first lies below the middle and ends with it, at
// `step`; the second takes the room of both; the fourth makes room for the middle and the fifth, starts with the first,
// and the fifth ends with the second.
bool Pieces::find_pinwheel(int step) {
  for (const int second : starts_[step]) {
    for (const int middle : stops_[step]) {
      for (const int first : stops_[step]) {
        work_ += kWorkOfLook;
        if (first == middle || bytes(first) + bytes(middle) != bytes(second)) continue;
        if (find_fourth_and_fifth(step, first, second, middle)) return true;
      }
    }
  }
  return false;
}

bool Pieces::find_fourth_and_fifth(int step, int first, int second, int middle) {
  const int begin = pieces_[middle].block.first;
  for (const int fourth : stops_[begin]) {
    if (pieces_[fourth].block.first != pieces_[first].block.first) continue;
    for (const int fifth : starts_[begin]) {
      work_ += kWorkOfLook;
      if (fifth == middle || pieces_[fifth].block.last != pieces_[second].block.last) continue;
      if (bytes(fourth) != bytes(fifth) + bytes(middle)) continue;
      matches_[step] = {{first, second, middle, fourth, fifth}, {}, true};
      return true;
    }
  }
  return false;
}

bool Pieces::join_pinwheels() {
  std::vector<int> steps = std::exchange(around_, {});
  std::ranges::sort(steps);
  steps.erase(std::ranges::unique(steps).begin(), steps.end());
  bool found = false;
  for (const int step : steps) {
    if (!find_pinwheel(step)) continue;
    apply(std::exchange(matches_[step], {}));
    touch(step);
    found = true;
  }
  return found;
}

// Where nothing matches, pieces that start together and end together are one, those first that hardly anything starts
// or ends with.
bool Pieces::join_alike() {
  while (!alike_.empty()) {
    const Candidate top = alike_.top();
    alike_.pop();
    if (top.version != versions_[top.step]) continue;
    Group best;
    for (Group& group : starting(top.step)) {
      if (group.size() > 1 && (best.empty() || share(group) > share(best))) best = std::move(group);
    }
    if (best.empty()) continue;
    if (share(best) < top.score) {
      alike_.push({share(best), top.step, top.version});
      continue;
    }
    if (at_random_ && best.size() > 2) {
      std::ranges::shuffle(best, random_);
      best.resize(2 + random_() % (best.size() - 1));
    }
    stack(best);
    return true;
  }
  return false;
}

void Pieces::join(Meter& meter) {
  while (count_ > 1 && !meter.spent()) {
    for (const int step : std::exchange(touched_, {})) {
      is_touched_[step] = 0;
      look_at(step);
    }
    meter.spend(std::exchange(work_, 0));
    while (!candidates_.empty() && candidates_.top().version != versions_[candidates_.top().step]) candidates_.pop();
    if (candidates_.empty()) {
      if (!join_pinwheels() && !join_alike()) return;
      continue;
    }
    const int step = candidates_.top().step;
    candidates_.pop();
    touch(step);
    apply(std::exchange(matches_[step], {}));
  }
}

void Pieces::take_apart(int piece) {
  take(piece);
  for (const Part& part : pieces_[piece].parts) leave(part.piece);
  changes_.push_back({piece, true});
}

// Pieces that start or end at a step, and at steps that those lead to.
void Pieces::take_apart_some() {
  int piece = 0;
  do {
    piece = static_cast<int>(random_() % pieces_.size());
    work_ += kWorkOfLook;
  } while (!pieces_[piece].is_left);
  const int rounds = 1 + static_cast<int>(random_() % 4), most = 4 + static_cast<int>(random_() % (kMostApart - 4));
  int step = random_() % 2 ? pieces_[piece].block.first : pieces_[piece].block.last + 1;
  for (int round = 0, apart = 0; round < rounds; ++round) {
    std::vector<int> whole;
    for (const auto* side : {&starts_[step], &stops_[step]}) {
      std::ranges::copy_if(*side, std::back_inserter(whole), [&](int i) { return !pieces_[i].parts.empty(); });
    }
    if (whole.empty()) return;
    for (const int i : whole) {
      if (random_() % 3 && apart < most) take_apart(i), ++apart;
    }
    if (random_() % 2 == 0) continue;
    const Block& block = pieces_[whole[random_() % whole.size()]].block;
    step = random_() % 2 ? block.first : block.last + 1;
  }
}

void Pieces::go_back() {
  for (; !changes_.empty(); changes_.pop_back()) {
    const auto [piece, taken_apart] = changes_.back();
    if (taken_apart) {
      for (const Part& part : pieces_[piece].parts) take(part.piece);
      leave(piece);
      continue;
    }
    take(piece);
    for (const Part& part : pieces_[piece].parts) leave(part.piece);
    pieces_.pop_back();
  }
}

void Pieces::try_others(int64_t work, Meter& meter) {
  at_random_ = true;
  const int64_t stop = meter.left() - work;
  while (count_ > 1 && meter.left() > stop && !meter.spent()) {
    changes_.clear();
    const int before = count_;
    take_apart_some();
    work_ += kWorkOfTry;
    join(meter);
    if (count_ > before) go_back();
  }
}

std::vector<Block> Pieces::left() const {
  std::vector<Block> left;
  for (const Piece& piece : pieces_) {
    if (piece.is_left) left.push_back(piece.block);
  }
  return left;
}

std::vector<int64_t> Pieces::offsets(const std::vector<int64_t>& of_left) const {
  constexpr int64_t kNowhere = -1;  // taken apart for good
  std::vector<int64_t> at(pieces_.size(), kNowhere);
  for (size_t i = 0, left = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].is_left) at[i] = of_left[left++];
  }
  for (size_t i = pieces_.size(); i-- > 0;) {  // parts come before what they are of
    if (at[i] == kNowhere) continue;
    for (const Part& part : pieces_[i].parts) at[part.piece] = at[i] + static_cast<int64_t>(part.at);
  }
  at.resize(num_blocks_);
  return at;
}

bool fill_rectangle(std::span<const Block> blocks) {
  if (blocks.empty()) return false;
  int first = blocks[0].first, last = blocks[0].last;
  size_t area = 0;
  for (const Block& block : blocks) {
    first = std::min(first, block.first);
    last = std::max(last, block.last);
    area += block.bytes * static_cast<size_t>(block.last - block.first + 1);
  }
  return area == live_bytes_bound(blocks) * static_cast<size_t>(last - first + 1);
}

Placement place_pieces(std::span<const Block> blocks, Meter& meter, PlaceLeft place_left) {
  const size_t height = live_bytes_bound(blocks);
  const auto joined = [&](Pieces::Doubt doubt) {
    Pieces pieces(blocks, doubt);
    pieces.join(meter);
    pieces.try_others(kFirstRound, meter);
    return pieces;
  };
  Pieces pieces = joined(Pieces::Doubt::few_bytes);
  if (pieces.count() > 1) {
    Pieces others = joined(Pieces::Doubt::crowds);
    if (others.count() < pieces.count()) pieces = std::move(others);
  }
  for (int64_t round = kFirstRound; !meter.spent(); round *= 2) {
    const std::vector<Block> left = pieces.left();
    std::optional<std::vector<int64_t>> found;
    if (left.size() == 1) {
      found = {0};
    } else if (left.size() <= kSearchable) {
      PlaceSearch search(left);
      if (search.fit(height, round, meter) == PlaceSearch::Answer::found) found = search.placement().offsets;
    }
    if (found) return Placement{pieces.offsets(*found), height, height};
    pieces.try_others(round, meter);
  }
  const Placement placed = place_left(pieces.left());
  return {pieces.offsets(placed.offsets), placed.extent, height};
}

}  // namespace neap::planner
