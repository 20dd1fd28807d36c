#include <neap/error.h>
#include <neap/shape.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/check.h"

namespace neap {

int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (const int64_t extent : shape) {
    NEAP_CHECK(extent >= 0, "extent {} in shape [{}]", extent, fmt::join(shape, ","));
    if (extent == 0) {
      empty = true;
    } else {
      overflow |= __builtin_mul_overflow(count, extent, &count);
    }
  }
  if (empty) return 0;
  NEAP_CHECK(!overflow, "shape [{}] has more elements than an int64 counts", fmt::join(shape, ","));
  return count;
}

Shape row_major_strides(std::span<const int64_t> shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    // Beside an extent of 0 the others may leave int64: nothing is read by such strides.
    (void)__builtin_mul_overflow(stride, std::max<int64_t>(shape[axis], 1), &stride);
  }
  return strides;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

size_t Aval::bytes() const {
  int64_t total = 0;
  const bool overflow = __builtin_mul_overflow(size(), static_cast<int64_t>(size_of(dtype)), &total);
  NEAP_CHECK(!overflow, "{} has more bytes than an int64 counts", to_string(*this));
  return static_cast<size_t>(total);
}

std::string to_string(const Aval& aval) { return fmt::format("{}{}", name(aval.dtype), to_string(aval.shape)); }

std::optional<Shape> broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Shape result(a.begin(), a.end());
  const size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& extent = result[offset + i];
    if (extent == b[i] || b[i] == 1) continue;
    if (extent != 1) return std::nullopt;
    extent = b[i];
  }
  return result;
}

int64_t normalize_axis(int64_t axis, int64_t ndim, std::string_view op, std::source_location loc) {
  if (axis >= -ndim && axis < ndim) return axis < 0 ? axis + ndim : axis;
  throw_user<IndexError>(op, fmt::format("axis {}", axis),
                         ndim == 0 ? std::string("no axis, the operand is a scalar")
                                   : fmt::format("an axis from {} to {}", -ndim, ndim - 1),
                         "", loc);
}

std::vector<int64_t> normalize_axes(std::span<const int64_t> axes, int64_t ndim, std::string_view op,
                                    std::source_location loc) {
  std::vector<int64_t> result;
  for (const int64_t axis : axes) {
    const int64_t normal = normalize_axis(axis, ndim, op, loc);
    if (std::find(result.begin(), result.end(), normal) != result.end()) {
      throw_user<IndexError>(op, fmt::format("axis {} appears twice in [{}]", axis, fmt::join(axes, ",")), "",
                             "name each axis once", loc);
    }
    result.push_back(normal);
  }
  return result;
}

}  // namespace neap
