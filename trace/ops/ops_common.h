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

/// The dtype that operands promote to: JAX's lattice over the arrays, then the weakest kind of the scalars.
DType common_dtype(std::span<const Operand* const> operands);
/// The shape that operands broadcast to.
Shape common_shape(std::string_view op, std::span<const Operand* const> operands);
/// The operand converted and broadcast.
Array fit(const Operand& x, const Shape& shape, DType dtype);
/// An elementwise op on operands of any shape and dtype.
Array elementwise(Op op, std::span<const Operand* const> operands);
/// The op on complex operands: a node, or what it is made of; DTypeError where it has no complex form.
Array apply_complex(Op op, const Arrays& operands, std::source_location loc);
/// The larger of two in the floating dtype that they promote to, and the smaller less the larger: 0 where both are the
/// same infinity, NaN where one is. Smooth functions of both have the right derivatives, to every order, also where x
/// is y; where both are the same infinity x has them all.
std::pair<Array, Array> larger_and_difference(const Operand& x, const Operand& y);
/// |x|^2, real.
Array squared_magnitude(const Array& x);
/// The product of complex numbers over these axes.
Array complex_prod(const Array& x, const Shape& axes);
/// The arrays in the one dtype that they promote to.
Arrays promoted(const Arrays& arrays, std::source_location loc);

/// ShapeError that names `op` where an extent is negative or the array would have more than 2^63 bytes.
void check_extents(std::string_view op, const Shape& shape, DType dtype, std::source_location loc);

/// ShapeError unless a function may give so many arrays.
void check_parts(std::string_view op, int64_t parts, std::source_location loc);

/// dynamic_slice and dynamic_update_slice with a start i64[rank] that is not counted from the end where it is negative:
/// only moved so that the window fits. For rules and functions that know where their windows start.
Array window_at(const Array& x, const Array& start, const Shape& shape, std::source_location loc);
Array with_window_at(const Array& x, const Array& update, const Array& start, std::source_location loc);

/// A dtype that holds every index of n elements, and their number.
inline DType index_dtype(int64_t n) { return n <= std::numeric_limits<int32_t>::max() ? DType::i32 : DType::i64; }

/// What floats are added up in: f32 for half types, which hold neither a sum of many small terms nor a count beyond
/// 256. Other dtypes are their own.
inline DType wide(DType dtype) { return is_float(dtype) && size_of(dtype) == 2 ? DType::f32 : dtype; }
/// What sum() gives, as NumPy's: of bool and integers below 32 bits, i32 or u32.
DType sum_dtype(DType dtype);
/// Nothing of the dtype is lower.
double lowest_of(DType dtype);

/// That a loop's body gives a carry (its first results) of the shapes and dtypes that it takes. Errors count arrays
/// from `counters` on, which are not the user's.
void check_carry(std::string_view op, const Graph& body, std::span<const Aval> carry, std::source_location loc,
                 size_t counters = 0);

/// f of the floating array, wide(), as one executable outside a trace; rounded to the dtype once. The key is
/// composite()'s.
Array in_floats(const std::string& key, const Operand& x, const std::function<Array(const Array&)>& f);
/// The same for f(array, resolved axes, keepdims).
Array statistic(std::string_view what, const Operand& x, const Axes& axes, bool keepdims,
                const std::function<Array(const Array&, const Shape&, bool)>& f);

}  // namespace neap::tracing
