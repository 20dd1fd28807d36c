// This is the state of a search for offsets (place_search.h): the bounds of what is not placed yet, and how to go back.
#pragma once

#include <random>
#include <utility>

#include "planner/place/place_search.h"

namespace neap::planner {

class PlaceSearch::State {
 public:
  explicit State(std::span<const Block> blocks);
  Answer fit(size_t capacity, int64_t work, Meter& meter);

  Placement placement;

 private:
  static constexpr int64_t kPlaced = -1;                                  // as lowest offset of a block
  static constexpr int64_t kEmpty = std::numeric_limits<int64_t>::max();  // as floor of a section without unplaced ones

  struct Frame {
    int section;
    int begin, end;                     // sections around it that unplaced blocks hold together
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
  void find_floor(int s);
  bool raise_lowest(int s);
  void fail(int s);
  void set_lowest(int x, int64_t lowest);
  void undo(size_t blocks, size_t floors);
  int most_constrained_section(int begin, int end);
  Frame next_frame();
  int best_choice(int s);

  // Of each block.
  std::vector<int64_t> size_, lowest_, offset_;
  std::vector<int> first_, end_;  // sections
  std::vector<int> twin_;         // the next block like it; the last one's is the first
  std::vector<int> rank_;         // higher is tried first
  std::vector<std::vector<int>> overlaps_;
  // Of each section.
  std::vector<std::vector<int>> members_;  // by lowest offset, when last looked at
  std::vector<int64_t> floor_, rest_, total_;
  std::vector<int64_t> highest_;  // no unplaced member's lowest offset is above it
  std::vector<int> placed_;       // of the members, those at the front; the last placed is the last of them
  std::vector<int> choices_;      // unplaced members whose lowest offset is the floor
  std::vector<int> joined_;       // unplaced members that the section before has too
  std::vector<double> failures_, weight_;

  std::vector<std::pair<int, int64_t>> block_trail_;
  std::vector<Floor> floor_trail_;
  std::vector<Frame> frames_;
  std::vector<std::pair<int64_t, int64_t>> by_end_;  // of raise_lowest: least ends of members, and their bytes
  std::vector<std::pair<int, int64_t>> raised_;      // and what it found
  std::vector<int> touched_;
  std::vector<char> is_touched_;
  std::minstd_rand random_{1};
  uint64_t searches_ = 0;
  size_t unplaced_ = 0;
  int64_t capacity_ = 0;
  int64_t work_ = 0;  // since the meter was told
};

}  // namespace neap::planner
