// Runs a Dag on batches of lanes: constants are folded with it, and tests of trace/scalar/scalar_math.h compare with
// it.
//
// A value is its bits, zero extended to 64. f32 arithmetic is that of the hardware: one rounding for each instruction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/function_ref.h"
#include "trace/scalar/scalar.h"

namespace neap::scalar {

/// Evaluates one instruction over out.size() lanes; `from` is the type of operand a (of b for select). Leaves are not
/// allowed.
void evaluate(const Inst& inst, DType from, const uint64_t* a, const uint64_t* b, const uint64_t* c,
              std::span<uint64_t> out);

/// A LeafFunction writes the values of an index, param or load instruction; `index` holds the element indices of a
/// load.
using LeafFunction = FunctionRef<void(const Inst& inst, const uint64_t* index, std::span<uint64_t> out)>;

/// Evaluates the instructions that `roots` need, in order; result[i] holds the lanes of roots[i].
std::vector<std::vector<uint64_t>> evaluate(const Dag& dag, std::span<const int32_t> roots, int lanes,
                                            LeafFunction leaf);

/// Marks the instructions that `roots` need, themselves included.
std::vector<bool> needed(const Dag& dag, std::span<const int32_t> roots);

/// Returns the C library's value of a call.
double call_function(Function function, double a, double b);
/// Returns the address of the C function, for a JIT to define symbol(function) with.
void* address(Function function);

}  // namespace neap::scalar
