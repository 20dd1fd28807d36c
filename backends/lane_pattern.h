// What the lanes of an integer are, where vectors begin at multiples of their lanes: of quotients and remainders by
// powers of two, such as the places along short axes, a constant that is known when a kernel is written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "trace/scalar/scalar.h"

namespace neap::backends {

/// Holds how far each lane is from the first one, and a number of which the first one is a multiple (0: it is 0).
struct LanePattern {
  std::vector<int64_t> offsets;
  int64_t multiple = 1;

  int64_t least() const;
  int64_t most() const;
};

/// Finds the patterns of integers in the loop of one level.
class LanePatterns {
 public:
  /// `exact` tells which instructions neither wrap nor divide what is negative, `varies` of which lanes differ.
  LanePatterns(const scalar::Dag& dag, int level, int lanes, std::vector<bool> exact, std::vector<bool> varies);
  /// Returns nullptr where the lanes are not known. The pointer is valid as long as this object.
  const LanePattern* of(int32_t id);

 private:
  std::optional<LanePattern> find(int32_t id);
  std::optional<LanePattern> varying(int32_t id);
  std::optional<LanePattern> divided(const LanePattern& x, int64_t by) const;
  std::optional<LanePattern> remainder(const LanePattern& x, int64_t by) const;

  const scalar::Dag& dag_;
  int level_, lanes_;
  std::vector<bool> exact_, varies_;
  std::map<int32_t, std::optional<LanePattern>> known_;
};

}  // namespace neap::backends
