// The shape of a cumulative op (cumsum and its kin), as planner/kernels/cumulative.h defines it, and how a CPU runs it.
#pragma once

#include <neap/dtype.h>

#include <cstddef>
#include <cstdint>

namespace neap::planner {

enum class Cumulation : uint8_t { sum, prod, max, min };

/// Describes a cumulative op on an array [outer, length, inner], along its second axis.
struct CumulativeForm {
  int64_t outer = 1, length = 0, inner = 1;
  DType dtype = DType::f32;
  Cumulation kind = Cumulation::sum;
  bool reverse = false;  // from the end
  bool operator==(const CumulativeForm&) const = default;

  int64_t size() const { return outer * length * inner; }
};

/// Says how a CPU runs it, by shape alone, never by threads: as tasks for so many columns (of `inner`) at once and,
/// where these would be few, for blocks of the length, whose totals are taken first.
struct CumulativeLayout {
  int64_t columns = 1, blocks = 1;
  size_t scratch_bytes = 0;  // totals [outer, blocks, inner], each of 8 bytes, where there are several blocks
};
CumulativeLayout cumulative_layout(const CumulativeForm& form);

}  // namespace neap::planner
