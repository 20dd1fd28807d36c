// Says where in its arrays a map kernel stores, iteration by iteration of a loop, and how far around that it reads:
// what a part of its range needs of others. Places are counted in units, so many elements of an array each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/analysis.h"

namespace neap::cpu {

class Placement {
 public:
  /// Describes a buffer: rows of units that are stored to are [u, u]; those that are read, [u - below, u + above].
  struct Touched {
    bool read = false, stored = false;
    bool known = true;  // whether below and above are; else any element may be read
    int64_t below = 0, above = 0;
  };

  /// Returns the elements from one iteration to the next of the kernel's outer loop, of what may be unit; 0 where it
  /// has but one loop. nullopt: the kernel is no map whose iterations can be told apart by where they store.
  static std::optional<int64_t> pitch(const Analysis& analysis);
  /// Returns the kernel's places in units of so many elements, or nullopt where an iteration stores to two units, where
  /// they do not ascend, or where the kernel cannot be cut there. Arrays have `whole` elements: what is read behind the
  /// last or before the first may be the first or the last, as on a circle.
  static std::optional<Placement> of(const Analysis& analysis, int64_t unit, int64_t whole);

  /// The loop whose range is cut, and the first of its iterations that stores to unit u or above.
  int level() const { return level_; }
  int64_t first(int64_t u) const;

  /// Whether those iterations may be any, of the loop of the lanes (Kernel::any_range).
  bool cuts_lanes() const { return cuts_lanes_; }

  /// Whether units follow one another as on a circle.
  bool wraps() const { return wraps_; }

  const std::vector<Touched>& buffers() const { return buffers_; }

 private:
  int64_t position(int64_t iteration) const;
  std::optional<Interval> around(const Analysis& analysis, int32_t load, int64_t whole) const;

  int level_ = 1;
  bool cuts_lanes_ = false, wraps_ = false;
  int64_t unit_ = 1, extent_ = 0;
  int64_t begin_ = 0, pitch_ = 0;   // position(i) = begin + pitch * i, unless it is computed
  std::vector<scalar::Inst> code_;  // that computes it, of the index `level`, in i64
  std::vector<Touched> buffers_;
};

}  // namespace neap::cpu
