// Follows integers along the rows of a kernel: the iterations of its outer loop, or of the inner one where it has no
// other. An index that moves by the same number from row to row stays near that, whatever the other loop adds.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/analysis.h"

namespace neap::cpu {

inline constexpr int64_t kFar = int64_t{1} << 40;    // what is computed of numbers up to it stays far from overflow
inline constexpr int64_t kSmall = int64_t{1} << 20;  // steps between rows, and factors

/// Returns n / d, rounded down; d > 0.
inline int64_t floor_div(int64_t n, int64_t d) { return n >= 0 ? n / d : -((d - 1 - n) / d); }

/// Tells whether a sum, difference or product, or a number of another type, is what it is without bounds.
bool fits(const Analysis& a, int32_t id);
/// Tells whether it is divided by a positive number, and not negative.
bool divides(const Analysis& a, int32_t id);

/// Returns the level whose iterations are the kernel's rows.
inline int row_level(const backends::Kernel& k) { return k.extent[0] > 1 ? 0 : 1; }

class Rows {
 public:
  explicit Rows(const Analysis& analysis);

  /// Returns what is left of an index, over all rows, of which each is `pitch` behind the one before; nullopt: unknown.
  std::optional<Interval> within_row(int32_t index, int64_t pitch) const;

 private:
  // An integer v that follows the row r: `unit` * v - `slope` * r lies in `rest`.
  struct Near {
    int64_t unit = 1, slope = 0;
    Interval rest;
  };
  std::optional<Near> as(const std::optional<Near>& v, int64_t unit, int64_t slope) const;
  std::optional<std::pair<Near, Near>> alike(int32_t a, int32_t b) const;
  std::optional<Near> flat(int32_t id) const;
  std::optional<Near> find(int32_t id) const;
  std::optional<Near> choice(int32_t id) const;

  const Analysis& a_;
  int64_t last_row_ = 0;
  std::vector<std::optional<Near>> near_;
};

}  // namespace neap::cpu
