// The emitter must know some things of a kernel before it writes code: on which loop each instruction depends, the
// range of every integer, and which integers are affine in the loop indices, so that loads through them are contiguous.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backends/kernel.h"
#include "backends/lane_pattern.h"
#include "backends/rise.h"

namespace neap::cpu {

/// Describes the machine's vector units, as far as the emitter's choices depend on them.
struct VectorUnit {
  int bits = 128;     // of one register
  bool avx2 = false;  // byte shuffles and cvttps2dq by their x86 names
};

/// Holds the closed range of the values of an integer instruction.
struct Interval {
  int64_t lo = 0, hi = 0;
  bool inside(const Interval& o) const { return lo >= o.lo && hi <= o.hi; }
};

/// Stands for constant + sum of coefficient * value(instruction). Every term is the index of the vector loop or has one
/// value for all lanes. It is equal modulo 2^64 where it is `exact`, as addresses need it, else modulo 2^bits of the
/// type.
struct Linear {
  std::vector<std::pair<int32_t, int64_t>> terms;  // ascending instructions, no zero coefficients
  int64_t constant = 0;
  bool exact = true;
};

/// Groups loads at a common base and a small common stride, which share wide loads and pick their lanes by shuffles.
struct StridedGroup {
  int buffer = 0;
  int64_t stride = 0;
  std::vector<std::pair<int64_t, int32_t>> loads;  // (element offset from the first, instruction), ascending
};

/// Says what is known of a kernel that is a stretch of another's vector loop (stretches.h).
struct Within {
  Interval place, row;            // ranges of the indices of the vector level and of level 2
  int lanes = 0, tail_lanes = 0;  // 0: as many as suit it
  int64_t begins_at = 1;          // a number of which the places where vectors begin are multiples
};

/// Says how the lanes of a varying load or store lie in memory.
enum class Access : uint8_t { uniform, contiguous, reversed, strided, scattered };

class Analysis {
 public:
  Analysis(const backends::Kernel& kernel, const VectorUnit& unit, const Within* within = nullptr);

  const backends::Kernel& kernel;
  int lanes = 1;             // of the vector loop
  int tail_lanes = 1;        // of the loop over what is left; of accumulators along the lanes
  int outer = 0, inner = 1;  // the loop index of depth 1 and of depth 2
  int vector_depth = 2;      // the depth whose loop steps by W

  /// Returns 0 where the instruction runs once a call, 1 where once an iteration of the outer loop, 2 in the inner
  /// loop.
  int depth(int32_t id) const { return facts_[id].depth; }
  /// Tells whether the value differs between lanes.
  bool varying(int32_t id) const { return facts_[id].depth > 0 && facts_[id].varying; }
  /// Returns how many neighbouring lanes (1, 2 or 4, aligned) have one value of a varying instruction, which then needs
  /// so many times fewer lanes. More than 1 only occurs in arithmetic on quotients of the vector index, in kernels
  /// where a generator's block serves several elements.
  int shared(int32_t id) const { return facts_[id].shared; }
  /// Tells whether the lanes of an integer are consecutive, from a multiple of `unit` on.
  bool counts_from(int32_t id, int64_t unit) const;
  /// Tells whether any instruction is shared.
  bool shares() const { return shares_ > 1; }
  /// Tells whether the instruction has a register of its own; those only used inside affine addresses have none.
  bool needed(int32_t id) const { return facts_[id].needed; }
  /// Tells whether an address is made of the value.
  bool in_address(int32_t id) const { return facts_[id].in_address; }
  const Interval& range(int32_t id) const { return facts_[id].range; }
  /// Returns the range of the index of the vector loop.
  Interval places() const { return range_of_index(static_cast<uint64_t>(kernel.vector_level)); }
  /// Returns the iterations of the vector loop, or of the row that it is in.
  int64_t length() const { return within_ ? places().hi - places().lo + 1 : kernel.extent[kernel.vector_level]; }
  const Linear* linear(int32_t id) const { return facts_[id].linear ? &*facts_[id].linear : nullptr; }
  /// Returns the elements from one iteration of a loop to its next, of an address that is an exact Linear.
  int64_t along(const Linear& address, int level) const;
  /// Returns the same from one lane to the next.
  int64_t stride(const Linear& address) const;
  /// Tells whether this is a reduction down columns that reads rows far apart through this address.
  bool jumps_down(const Linear& address, int64_t element_bytes) const;
  /// Tells whether columns are reduced a few rows at a time, from the first column to the last.
  bool takes_columns() const;
  /// Says how a load or store with the element index `id` accesses memory.
  Access access(int32_t id) const;
  /// Tells whether some access of a map runs along the outer loop in memory and jumps from lane to lane, as in a
  /// transpose: then small tiles of both loops reuse cache lines that whole rows would lose.
  bool crosses() const;
  /// Returns how much an integer that falls from no lane to the next rises within 8 of them, or else 16, at most; -1:
  /// not known.
  int64_t rise(int32_t id, int lanes) const { return rises_[lanes > 8][id]; }
  /// Returns the remainder, of a division by no more than 16, to which an address adds what all lanes have in common,
  /// where the loop runs through all remainders, or -1.
  int32_t small_remainder(int32_t address) const;
  /// Returns what so many lanes of an address are, nullptr where that is not known when code is written or more
  /// registers of memory lie between them than it is worth to read.
  const backends::LanePattern* pattern(int32_t address, int lanes) const;
  /// Returns the group that a strided load belongs to, or -1.
  int group(int32_t load) const { return facts_[load].group; }
  const std::vector<StridedGroup>& groups() const { return groups_; }
  /// Returns the depth at which a sum of these terms can be computed.
  int depth(const Linear& sum) const;
  bool is_vector_index(int32_t id) const;

 private:
  struct Facts {
    int depth = 0;
    bool varying = false, needed = false, in_address = false;
    int group = -1, shared = 1;
    Interval range;
    std::optional<Linear> linear;
  };
  void find_dependence();
  Interval range_of_index(uint64_t level) const;
  Interval find_range(int32_t id) const;
  std::optional<Linear> find_linear(int32_t id) const;
  bool is_exact(int32_t id) const;
  void find_shared();
  void mark_needed();
  void mark_addresses();
  void group_strided_loads();
  void choose_lanes(const VectorUnit& unit);

  std::vector<Facts> facts_;
  std::vector<int64_t> rises_[2];
  std::vector<StridedGroup> groups_;
  mutable std::map<int, backends::LanePatterns> patterns_;  // by lanes
  int64_t most_registers_ = 0;                              // that are worth it, for each that is made
  std::optional<Within> within_;
  int shares_ = 1;  // the fewest lanes that share an instruction
};

/// Returns what x is divided by where the instruction is x - x / d * d, as places in rows are found.
std::optional<int64_t> divisor_of_remainder(const scalar::Dag& dag, const scalar::Inst& inst);
using backends::signed_constant;
/// Returns the range of all values of an integer type or bool (for u64 and i64: that of int64).
Interval range_of(DType type);

}  // namespace neap::cpu
