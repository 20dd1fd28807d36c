// Shapes, and the abstract value (shape and dtype) that is all a trace knows of an array.
#pragma once

#include <neap/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// Shape holds the extents of an array, one for each axis; none for a scalar.
using Shape = std::vector<int64_t>;

/// Returns the product of the extents, 1 for a scalar. Throws InternalError if an extent is negative or the product
/// exceeds int64.
int64_t element_count(std::span<const int64_t> shape);
/// Returns the strides in elements of the row-major layout: {12, 4, 1} for {2, 3, 4}.
Shape row_major_strides(std::span<const int64_t> shape);
/// Writes "[2,3]"; "[]" for a scalar.
std::string to_string(const Shape& shape);

/// Aval is what a trace knows of an array: shape and dtype.
struct Aval {
  Shape shape;
  DType dtype = DType::f32;

  bool operator==(const Aval&) const = default;
  /// Returns the number of axes.
  int64_t ndim() const { return static_cast<int64_t>(shape.size()); }
  /// Returns the number of elements.
  int64_t size() const { return element_count(shape); }
  /// Returns size() times the element's bytes. Throws InternalError where that exceeds int64.
  size_t bytes() const;
};

/// Writes "f32[2,3]"; "f32[]" for a scalar.
std::string to_string(const Aval& aval);

/// Returns the shape that both broadcast to, by NumPy's rule (aligned at the last axis, 1 stretches); nullopt if there
/// is none.
std::optional<Shape> broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b);

/// Returns `axis`, counted from the end where negative, as a number in [0, ndim). Throws IndexError, naming `op`, where
/// it is outside.
int64_t normalize_axis(int64_t axis, int64_t ndim, std::string_view op,
                       std::source_location loc = std::source_location::current());
/// Returns normalize_axis of each, in the order given. Throws IndexError also where an axis appears twice.
std::vector<int64_t> normalize_axes(std::span<const int64_t> axes, int64_t ndim, std::string_view op,
                                    std::source_location loc = std::source_location::current());

}  // namespace neap

#pragma GCC visibility pop
