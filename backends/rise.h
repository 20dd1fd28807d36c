// What kernels' integers are: remainders, bounds, and how far lanes move. Rows shorter than vectors: what neighbouring
// lanes read may lie within one register's worth of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/scalar/scalar.h"

namespace neap::backends {

/// Returns how much an integer that falls from no iteration of the loop of this level to the next rises within so many
/// of them, at most, or -1: not known. `of` has the rises of the instructions before it; `varies` says whether it
/// depends on the loop. Taken that no sum wraps and no dividend is negative.
int64_t rise(const scalar::Dag& dag, int32_t id, int level, int lanes, const std::vector<int64_t>& of, bool varies);

/// Returns the divisor where the instruction is the remainder x - x / d * d, or of a power of two; 0: it is none.
int64_t modulus(const scalar::Dag& dag, const scalar::Inst& inst);

/// Tells whether the instruction selects the smaller of two integers, or the larger.
bool is_bounded(const scalar::Dag& dag, const scalar::Inst& inst);

/// Returns the value of an integer constant; of u64 modulo 2^64.
int64_t signed_constant(const scalar::Inst& inst);

}  // namespace neap::backends
