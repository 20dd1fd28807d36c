// What the functions on arrays share: promotion and broadcasting of operands.
#pragma once

#include <neap/ops.h>

#include <array>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "trace/graph/op_table.h"
#include "trace/tracing/tracing.h"

namespace neap::tracing {

/// Returns the dtype that operands promote to: JAX's lattice over the arrays, then the weakest kind of the scalars.
DType common_dtype(std::span<const Operand* const> operands);
/// Returns the shape that operands broadcast to.
Shape common_shape(std::string_view op, std::span<const Operand* const> operands);
/// Returns the operand converted and broadcast.
Array fit(const Operand& x, const Shape& shape, DType dtype);
/// Applies an elementwise op to operands of any shape and dtype.
Array elementwise(Op op, std::span<const Operand* const> operands);
/// Applies the op to complex operands, as a node or as the ops that it is made of. Throws DTypeError where it has no
/// complex form.
Array apply_complex(Op op, const Arrays& operands, std::source_location loc);
/// Returns the larger of two in the floating dtype that they promote to, and the smaller less the larger: 0 where both
/// are the same infinity, NaN where one is. Smooth functions of both have the right derivatives, to every order, also
/// where x is y; where both are the same infinity x has them all.
std::pair<Array, Array> larger_and_difference(const Operand& x, const Operand& y);
/// Returns |x|^2, which is real.
Array squared_magnitude(const Array& x);
/// Returns the product of complex numbers over these axes.
Array complex_prod(const Array& x, const Shape& axes);
/// Returns the arrays in the one dtype that they promote to.
Arrays promoted(const Arrays& arrays, std::source_location loc);

/// Throws ShapeError, naming `op`, where an extent is negative or the array would have more than 2^63 bytes.
void check_extents(std::string_view op, const Shape& shape, DType dtype, std::source_location loc);

/// Throws ShapeError unless a function may give so many arrays.
void check_parts(std::string_view op, int64_t parts, std::source_location loc);

/// These are dynamic_slice and dynamic_update_slice with a start i64[rank] that is not counted from the end where it is
/// negative, but only moved so that the window fits. They serve rules and functions that know where their windows
/// start.
Array window_at(const Array& x, const Array& start, const Shape& shape, std::source_location loc);
Array with_window_at(const Array& x, const Array& update, const Array& start, std::source_location loc);

/// Returns a dtype that holds every index of n elements, and their number.
inline DType index_dtype(int64_t n) { return n <= std::numeric_limits<int32_t>::max() ? DType::i32 : DType::i64; }

/// Returns the dtype in which floats are added up: f32 for half types, which hold neither a sum of many small terms nor
/// a count beyond 256 (bf16) or 2048 (f16). Other dtypes are their own.
inline DType wide(DType dtype) { return is_float(dtype) && size_of(dtype) == 2 ? DType::f32 : dtype; }
/// Returns the dtype that sum() gives, as NumPy's: for bool and integers below 32 bits, i32 or u32.
DType sum_dtype(DType dtype);
/// Returns a number that no value of the dtype is below.
double lowest_of(DType dtype);

/// Throws unless a loop's body gives a carry (its first results) of the shapes and dtypes that it takes. Errors count
/// arrays from `counters` on, as those before are not the user's.
void check_carry(std::string_view op, const Graph& body, std::span<const Aval> carry, std::source_location loc,
                 size_t counters = 0);

/// Returns f of the floating array in wide(), as one executable outside a trace, rounded to the dtype once. The key is
/// composite()'s.
Array in_floats(const std::string& key, const Operand& x, const std::function<Array(const Array&)>& f);
/// Does the same for f(array, resolved axes, keepdims).
Array statistic(std::string_view what, const Operand& x, const Axes& axes, bool keepdims,
                const std::function<Array(const Array&, const Shape&, bool)>& f);

}  // namespace neap::tracing
