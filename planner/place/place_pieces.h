// Blocks that fill a rectangle of steps and bytes without a hole are pieces of a puzzle, and are put together like one:
// where no byte is free, what ends before a step makes room for just what starts in it, so that pieces of one size on
// both sides of it, or such as live as long as each other and are of one size together, hardly belong elsewhere. Joined
// they are one larger piece. That takes thousands of blocks to a few where searches from below (place_search.h) do not
// get beyond hundreds. Tested in tests/planner/place_test.cpp.
#pragma once

#include <queue>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/function_ref.h"
#include "planner/place/place.h"
#include "planner/place/place_search.h"

namespace neap::planner {

/// Tells whether as many bytes are needed at every step from the first to the last.
bool fill_rectangle(std::span<const Block> blocks);

/// Places the pieces that are left where they do not come together.
using PlaceLeft = FunctionRef<Placement(std::span<const Block>)>;

/// Offsets for blocks that fill a rectangle, as high as it is where the pieces come together before the meter is
/// exhausted.
Placement place_pieces(std::span<const Block> blocks, Meter& meter, PlaceLeft place_left);

/// The pieces that the blocks make up, ever larger and fewer.
class Pieces {
 public:
  /// What makes a match less certain: few bytes, or also that there are many others at its step.
  enum class Doubt : uint8_t { few_bytes, crowds };

  Pieces(std::span<const Block> blocks, Doubt doubt);

  /// Joins pieces, the most certain first, until nothing matches.
  void join(Meter& meter);
  /// Takes pieces that lie together apart and joins them in other ways, and goes back where more pieces are left, until
  /// one is or so much work is spent.
  void try_others(int64_t work, Meter& meter);

  int count() const { return count_; }
  /// The pieces that are left, as blocks; and the offsets of the blocks they are of, for offsets of theirs.
  std::vector<Block> left() const;
  std::vector<int64_t> offsets(const std::vector<int64_t>& of_left) const;

 private:
  struct Part {
    int piece;
    size_t at;  // bytes above the bottom of the whole
  };
  struct Piece {
    Block block;
    std::vector<Part> parts;  // none: it is a block
    bool is_left = false;     // no part of another
  };
  // What ends before a step and what starts in it, of one size; or, the latter empty, the five of a pinwheel.
  struct Match {
    std::vector<int> before, after;
    bool is_pinwheel = false;
  };
  struct Candidate {
    double score;
    int step, version;  // of the step when it was looked at
    bool operator<(const Candidate& other) const { return std::pair(score, other.step) < std::pair(other.score, step); }
  };
  struct Change {
    int piece;
    bool taken_apart;  // else made
  };
  using Group = std::vector<int>;  // pieces that start together and end together

  void leave(int piece);
  void take(int piece);
  int add(Piece piece);
  int stack(const Group& group);
  void apply(const Match& match);
  void take_apart(int piece);
  void take_apart_some();
  void go_back();
  void touch(int step);
  void look_at(int step);
  bool find_pinwheel(int step);
  bool find_fourth_and_fifth(int step, int first, int second, int middle);
  bool join_pinwheels();
  bool join_alike();
  std::vector<Group> starting(int step) const;
  std::vector<Group> ending(int step) const;
  double share(const Group& group) const;
  size_t bytes(int piece) const { return pieces_[piece].block.bytes; }

  std::vector<Piece> pieces_;
  size_t num_blocks_;
  Doubt doubt_;
  int count_ = 0;  // of those that are left
  // Of each step.
  std::vector<std::vector<int>> starts_, stops_;  // pieces that are left; these end before it
  std::vector<Match> matches_;
  std::vector<int> versions_;
  std::vector<char> is_touched_;

  std::vector<int> touched_, around_;  // steps to look at; where a pinwheel may have become whole
  std::priority_queue<Candidate> candidates_, alike_;
  std::vector<Change> changes_;
  std::minstd_rand random_{1};
  bool at_random_ = false;  // scores are
  int64_t work_ = 0;        // since the meter was told
};

}  // namespace neap::planner
