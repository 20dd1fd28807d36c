// Reductions besides those of ops.h: of segments, of windows, and by a function of the caller's (jax.ops, jax.lax).
//
// Values are compared with JAX's: tests/golden/more.json.
#pragma once

#include <neap/numpy.h>
#include <neap/transform_detail.h>

#include <utility>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

// --- segments: data [ids..., rest...] and integers segment_ids [ids...] -> [num_segments, rest...]
/// Adds up the slices of each segment: row s of the result is the sum of those data[i] whose segment_ids[i] is s; of
/// none 0. Ids below 0, or num_segments and above, are dropped. The dtype is that of data; half types are added up in
/// f32 and rounded once. ShapeError where the ids are no leading axes of data or num_segments is negative, DTypeError
/// where they are no integers or data is bool.
Array segment_sum(const Operand& data, const Operand& segment_ids, int64_t num_segments);
/// Multiplies the slices of each segment; of none 1.
Array segment_prod(const Operand& data, const Operand& segment_ids, int64_t num_segments);
/// Returns the largest of each segment, NaN where one is; of none the lowest value of the dtype (-inf of floats).
Array segment_max(const Operand& data, const Operand& segment_ids, int64_t num_segments);
/// Returns the smallest of each segment, NaN where one is; of none the highest value (inf of floats).
Array segment_min(const Operand& data, const Operand& segment_ids, int64_t num_segments);

}  // namespace neap

#pragma GCC visibility pop
