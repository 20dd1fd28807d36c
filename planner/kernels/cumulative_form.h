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
  bool is_float_product() const { return kind == Cumulation::prod && is_float(dtype); }
};

/// An element is the sum of two: of what the whole blocks before it give, from the first on, and of what those before
/// it in its own block give. So blocks can be walked over apart, and the bits follow from the length alone. Products of
/// floats have one block: that of others could overflow where all together do not.
int64_t cumulative_block(const CumulativeForm& form);

/// Says how a CPU runs it, by shape alone, never by threads: as tasks for so many columns (of `inner`) at once, each
/// with all blocks or, where these tasks would be few, for blocks apart, whose totals are taken first.
struct CumulativeLayout {
  int64_t columns = 1, blocks = 1;  // blocks 1: one after the other
  size_t scratch_bytes = 0;         // totals [outer, blocks, inner], each of 8 bytes, where they are apart
};
CumulativeLayout cumulative_layout(const CumulativeForm& form);

/// Columns that a task takes at most.
inline constexpr int64_t kMostCumulativeColumns = 512;

}  // namespace neap::planner
