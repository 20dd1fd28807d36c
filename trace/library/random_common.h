// What the files of the random library share: checks of arguments, shapes of draws.
#pragma once

#include <neap/array.h>

#include <initializer_list>
#include <string_view>

namespace neap::random {

/// Throws DTypeError unless the dtype is floating.
void check_float(DType dtype, std::string_view op, std::source_location loc);
/// Throws UserError for a scalar that is not above 0.
void check_positive(const Operand& x, std::string_view op, std::string_view what);
/// Throws UserError for a scalar outside [0, 1].
void check_probability(const Operand& p, std::string_view op);
/// Returns the shape of a draw: all parameters broadcast together. Throws ShapeError where they do not broadcast.
Shape broadcast_draws(std::initializer_list<const Operand*> parameters, std::string_view op, std::source_location loc);
/// Throws ShapeError unless all parameters broadcast to the shape.
void check_draws(const Shape& shape, std::initializer_list<const Operand*> parameters, std::string_view op,
                 std::source_location loc);

/// Returns the shape of an array of keys without the words.
Shape batch_of(const Operand& key);
Shape joined(Shape a, const Shape& b);
double smallest_normal(DType dtype);

}  // namespace neap::random
