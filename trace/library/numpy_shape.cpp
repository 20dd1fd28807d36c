// Functions of numpy.h that make arrays and move elements.
#include <neap/creation.h>
#include <neap/numpy.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "core/size.h"
#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

int64_t ndim_of(const Operand& x) { return static_cast<int64_t>(x.shape().size()); }
int64_t axis_of(const Operand& x, int64_t axis, std::string_view op) {
  return normalize_axis(axis, ndim_of(x), op, user_line(x.loc()));
}
void require_axes(const Operand& x, int64_t least, std::string_view op) {
  if (ndim_of(x) >= least) return;
  throw_user<ShapeError>(op, to_string(x.as_array().aval()), fmt::format("{} axes or more", least), "",
                         user_line(x.loc()));
}

}  // namespace

// --- making

Array tri(int64_t n, std::optional<int64_t> m, int64_t k, DType dtype, std::source_location loc) {
  const AtLine line(loc);
  const Shape shape{n, m.value_or(n)};
  check_extents("tri", shape, dtype, user_line(loc));
  // Beyond the corners all diagonals are alike; none of these leaves int64.
  const int64_t diagonal = std::clamp(k, -n, shape[1]);
  return (iota(shape, 1, DType::i64) <= iota(shape, 0, DType::i64) + diagonal).astype(dtype);
}

Array logspace(const Operand& start, const Operand& stop, int64_t count, double base, DType dtype) {
  const AtLine line(start.loc());
  const DType computed = wide(to_float_dtype(dtype));
  return pow(base, linspace(start, stop, count, computed)).astype(dtype);
}

Array geomspace(const Operand& start, const Operand& stop, int64_t count, DType dtype) {
  const AtLine line(start.loc());
  const DType computed = wide(to_float_dtype(dtype));
  const Array a = start.as(computed), b = stop.as(computed);
  const Array inside = sign(a) * exp2(linspace(log2(abs(a)), log2(abs(b)), count, computed));
  const Array i = iota({count}, 0, DType::i64);  // the ends are exact
  const Array all = where(i == 0, a, where(i == count - 1, b, inside));
  return (is_float(dtype) ? all : rint(all)).astype(dtype);
}

Array vander(const Operand& x, std::optional<int64_t> columns, bool increasing) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  if (a.ndim() != 1) throw_user<ShapeError>("vander", to_string(a.aval()), "one axis", "", user_line(x.loc()));
  const int64_t n = columns.value_or(a.size());
  if (n < 0) throw_user<ShapeError>("vander", fmt::format("{} columns", n), "0 or more", "", user_line(x.loc()));
  const Shape shape{a.size(), n};
  check_extents("vander", shape, a.dtype(), user_line(x.loc()));
  return composite(fmt::format("vander {} {}", n, increasing), {a}, [&](const Arrays& in) {
    Array exponent = iota(shape, 1, DType::i64), power = broadcast_in_dim(in[0], shape, {0});
    if (!increasing) exponent = n - 1 - exponent;
    Array result = ones_like(power);
    for (int64_t left = n - 1; left > 0; left >>= 1) {  // the product of x^(2^bit) for the bits of the exponent
      result = where((exponent & 1) != 0, result * power, result);
      exponent = exponent >> 1;
      if (left > 1) power = square(power);
    }
    return result;
  });
}

std::vector<Array> meshgrid(const std::vector<Array>& axes, bool matrix, std::source_location loc) {
  const AtLine line(loc);
  std::vector<int64_t> axis(axes.size());  // of the grid
  std::iota(axis.begin(), axis.end(), 0);
  if (!matrix && axes.size() > 1) std::swap(axis[0], axis[1]);
  Shape shape(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].ndim() > 1)
      throw_user<ShapeError>("meshgrid", to_string(axes[i].aval()), "one axis", "", user_line(loc));
    shape[axis[i]] = axes[i].size();
  }
  std::vector<Array> grids;
  for (size_t i = 0; i < axes.size(); ++i) grids.push_back(broadcast_in_dim(ravel(axes[i]), shape, {axis[i]}));
  return grids;
}

Array indices(const Shape& shape, DType dtype, std::source_location loc) {
  const AtLine line(loc);
  std::vector<Array> each;
  for (size_t axis = 0; axis < shape.size(); ++axis) each.push_back(iota(shape, static_cast<int64_t>(axis), dtype));
  if (!each.empty()) return stack(each);
  return zeros({0}, dtype);
}

// --- moving

Array roll(const Operand& x, int64_t shift, std::optional<int64_t> axis) {
  const AtLine line(x.loc());
  if (!axis) return reshape(roll(ravel(x), shift, 0), x.shape());
  const int64_t a = axis_of(x, *axis, "roll"), n = x.shape()[a];
  const int64_t by = n == 0 ? 0 : ((shift % n) + n) % n;
  if (by == 0) return x.as_array();
  return concatenate({slice_in_dim(x, n - by, n, a), slice_in_dim(x, 0, n - by, a)}, a);
}

Array rot90(const Operand& x, int64_t times, std::pair<int64_t, int64_t> axes) {
  const AtLine line(x.loc());
  const int64_t a = axis_of(x, axes.first, "rot90"), b = axis_of(x, axes.second, "rot90");
  if (a == b) throw_user<IndexError>("rot90", fmt::format("axis {} twice", a), "two axes", "", user_line(x.loc()));
  switch (((times % 4) + 4) % 4) {
    case 1: return swapaxes(flip(x, b), a, b);
    case 2: return reverse(x, {a, b});
    case 3: return flip(swapaxes(x, a, b), b);
    default: return x.as_array();
  }
}

Array fliplr(const Operand& x) {
  require_axes(x, 2, "fliplr");
  return flip(x, 1);
}
Array flipud(const Operand& x) {
  require_axes(x, 1, "flipud");
  return flip(x, 0);
}

Array atleast_1d(const Operand& x) { return ndim_of(x) >= 1 ? x.as_array() : reshape(x, {1}); }
Array atleast_2d(const Operand& x) { return ndim_of(x) >= 2 ? x.as_array() : reshape(x, {1, x.as_array().size()}); }
Array atleast_3d(const Operand& x) {
  const Shape& shape = x.shape();
  if (shape.size() >= 3) return x.as_array();
  if (shape.size() == 2) return reshape(x, {shape[0], shape[1], 1});
  return reshape(x, {1, x.as_array().size(), 1});
}

namespace {
template <class F>
std::vector<Array> each(const std::vector<Array>& arrays, F f) {
  std::vector<Array> result;
  for (const Array& a : arrays) result.push_back(f(a));
  return result;
}
}  // namespace

Array hstack(const std::vector<Array>& arrays, std::source_location loc) {
  const AtLine line(loc);
  const std::vector<Array> all = each(arrays, [](const Array& a) { return atleast_1d(a); });
  return concatenate(all, all.empty() || all[0].ndim() == 1 ? 0 : 1, loc);
}
Array vstack(const std::vector<Array>& arrays, std::source_location loc) {
  const AtLine line(loc);
  return concatenate(each(arrays, [](const Array& a) { return atleast_2d(a); }), 0, loc);
}
Array dstack(const std::vector<Array>& arrays, std::source_location loc) {
  const AtLine line(loc);
  return concatenate(each(arrays, [](const Array& a) { return atleast_3d(a); }), 2, loc);
}
Array column_stack(const std::vector<Array>& arrays, std::source_location loc) {
  const AtLine line(loc);
  const auto column = [](const Array& a) { return a.ndim() >= 2 ? a : reshape(a, {a.size(), 1}); };
  return concatenate(each(arrays, column), 1, loc);
}
Array append(const Operand& x, const Operand& y, std::optional<int64_t> axis) {
  const AtLine line(x.loc());
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = common_dtype(operands);
  const Array a = x.as(dtype), b = y.as(dtype);
  return axis ? concatenate({a, b}, *axis) : concatenate({ravel(a), ravel(b)});
}

std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays, std::source_location loc) {
  const AtLine line(loc);
  std::vector<Operand> operands;
  for (const Array& a : arrays) operands.emplace_back(a, loc);
  std::vector<const Operand*> all;
  for (const Operand& o : operands) all.push_back(&o);
  const Shape shape = common_shape("broadcast_arrays", all);
  return each(arrays, [&](const Array& a) { return broadcast_to(a, shape); });
}

std::vector<Array> split_at(const Operand& x, const Shape& positions, int64_t axis) {
  const AtLine line(x.loc());
  axis = axis_of(x, axis, "split_at");
  const int64_t n = x.shape()[axis];
  std::vector<Array> parts;
  int64_t begin = 0;
  const auto take_to = [&](int64_t end) {
    parts.push_back(slice_in_dim(x, begin, std::max(begin, end), axis));
    begin = end;
  };
  for (const int64_t p : positions) take_to(std::clamp<int64_t>(p < 0 ? p + n : p, 0, n));
  take_to(n);
  return parts;
}

std::vector<Array> array_split(const Operand& x, int64_t parts, int64_t axis) {
  const AtLine line(x.loc());
  check_parts("array_split", parts, user_line(x.loc()));
  const int64_t n = x.shape().empty() ? 0 : x.shape()[axis_of(x, axis, "array_split")];
  Shape positions;
  for (int64_t i = 1; i < parts; ++i) positions.push_back(i * (n / parts) + std::min(i, n % parts));
  return split_at(x, positions, axis);
}

Array repeat(const Operand& x, int64_t times, std::optional<int64_t> axis) {
  const AtLine line(x.loc());
  if (times < 0) throw_user<ShapeError>("repeat", fmt::format("{} times", times), "0 or more", "", user_line(x.loc()));
  if (!axis) return repeat(ravel(x), times, 0);
  const int64_t a = axis_of(x, *axis, "repeat");
  Shape wide = x.shape(), axes(wide.size()), shape = wide;
  for (int64_t i = 0; i < std::ssize(axes); ++i) axes[i] = i <= a ? i : i + 1;
  wide.insert(wide.begin() + a + 1, times);
  shape[a] = (Size(shape[a]) * times).value("repeat", fmt::format("axis {}", a), user_line(x.loc()));
  check_extents("repeat", shape, x.dtype(), user_line(x.loc()));
  return reshape(broadcast_in_dim(x, wide, axes), shape);
}

Array repeat(const Operand& x, const Array& counts, int64_t total, int64_t axis) {
  const AtLine line(x.loc());
  axis = axis_of(x, axis, "repeat");
  if (counts.shape() != Shape{x.shape()[axis]} || !is_integer(counts.dtype()))
    throw_user<ShapeError>("repeat", "counts are " + to_string(counts.aval()),
                           fmt::format("one integer for each of {} slices", x.shape()[axis]), "", user_line(x.loc()));
  check_extents("repeat", {total}, counts.dtype(), user_line(x.loc()));
  // Slice i ends where the counts up to i do.
  const Array end = cumsum(maximum(counts, 0), 0);
  return take(x, searchsorted(end, iota({total}, 0, end.dtype()), true), axis, GatherMode::clip);
}

namespace {

// Returns which element is read at each place of a padded axis of n elements.
Array padded_positions(int64_t n, int64_t before, int64_t after, PadMode mode) {
  const Array i = iota({before + n + after}, 0, DType::i64) - before;
  switch (mode) {
    case PadMode::edge: return clip(i, 0, n - 1);
    case PadMode::wrap: return mod(i, n);
    case PadMode::symmetric: {
      const Array m = mod(i, 2 * n);
      return where(m < n, m, 2 * n - 1 - m);
    }
    case PadMode::reflect: break;
  }
  const int64_t period = std::max<int64_t>(2 * n - 2, 1);
  const Array m = mod(i, period);
  return where(m < n, m, period - m);
}

// What an axis goes on with before its first element (`before` of them) or behind its last, where that is a part of it.
std::optional<Array> beyond(const Array& a, int64_t axis, int64_t width, bool before, PadMode mode) {
  const int64_t n = a.shape(axis);
  const auto part = [&](int64_t skipped, int64_t count, bool at_start) {
    const int64_t from = at_start ? skipped : n - skipped - count;
    return slice_in_dim(a, from, from + count, axis);
  };
  switch (mode) {
    case PadMode::edge: {
      Shape shape = a.shape();
      shape[static_cast<size_t>(axis)] = width;
      return broadcast_to(part(0, 1, before), shape);
    }
    case PadMode::wrap:
      if (width > n) return std::nullopt;
      return part(0, width, !before);
    case PadMode::symmetric:
      if (width > n) return std::nullopt;
      return flip(part(0, width, before), axis);
    case PadMode::reflect: break;
  }
  if (width >= n) return std::nullopt;
  return flip(part(1, width, before), axis);
}

Array padded_axis(const Array& a, int64_t axis, int64_t before, int64_t after, PadMode mode) {
  std::vector<Array> parts;
  for (const bool at_start : {true, false}) {
    if (!at_start) parts.push_back(a);
    const int64_t width = at_start ? before : after;
    if (width == 0) continue;
    const std::optional<Array> part = beyond(a, axis, width, at_start, mode);
    if (!part) return take(a, padded_positions(a.shape(axis), before, after, mode), axis);
    parts.push_back(*part);
  }
  return concatenate(parts, axis);
}

}  // namespace

Array pad(const Operand& x, const std::vector<std::pair<int64_t, int64_t>>& widths, PadMode mode) {
  const AtLine line(x.loc());
  Array a = x.as_array();
  if (std::ssize(widths) != a.ndim())
    throw_user<ShapeError>("pad", fmt::format("{} widths for {}", widths.size(), to_string(a.aval())),
                           "one for each axis", "", user_line(x.loc()));
  for (int64_t axis = 0; axis < a.ndim(); ++axis) {
    const auto [before, after] = widths[static_cast<size_t>(axis)];
    if (before == 0 && after == 0) continue;
    if (before < 0 || after < 0 || a.shape(axis) == 0)
      throw_user<ShapeError>("pad",
                             fmt::format("{} and {} around axis {} of {}", before, after, axis, to_string(a.aval())),
                             "widths of 0 and more around what is not empty", "", user_line(x.loc()));
    const Size padded = Size(before) + a.shape(axis) + after, period = Size(2) * a.shape(axis);
    if (!padded.fits() || !period.fits())
      throw_user<ShapeError>("pad",
                             fmt::format("{} and {} around axis {} of {}", before, after, axis, to_string(a.aval())),
                             "fewer than 2^63 elements", "", user_line(x.loc()));
    a = padded_axis(a, axis, before, after, mode);
  }
  return a;
}

namespace {
Array triangle(const Operand& x, int64_t k, bool lower, std::string_view op) {
  const AtLine line(x.loc());
  require_axes(x, 2, op);
  const Array a = x.as_array();
  const int64_t rows = a.shape(-2), columns = a.shape(-1);
  k = std::clamp(k, -rows, columns);  // all beyond are alike, and k - 1 is one of them
  const Array inside = tri(rows, columns, lower ? k : k - 1, DType::bool_);
  return lower ? where(inside, a, zeros_like(a)) : where(inside, zeros_like(a), a);
}
}  // namespace

Array tril(const Operand& x, int64_t k) { return triangle(x, k, true, "tril"); }
Array triu(const Operand& x, int64_t k) { return triangle(x, k, false, "triu"); }

Array diagonal(const Operand& x, int64_t offset, int64_t axis1, int64_t axis2) {
  const AtLine line(x.loc());
  require_axes(x, 2, "diagonal");
  const int64_t a = axis_of(x, axis1, "diagonal"), b = axis_of(x, axis2, "diagonal");
  if (a == b) throw_user<IndexError>("diagonal", fmt::format("axis {} twice", a), "two axes", "", user_line(x.loc()));
  const Array last = moveaxis(moveaxis(x, a, -1), b > a ? b - 1 : b, -1);  // [..., axis1, axis2]
  const int64_t rows = last.shape(-2), columns = last.shape(-1);
  offset = std::clamp(offset, -rows, columns);  // beyond there is none
  const int64_t n =
      std::max<int64_t>(0, std::min(rows + std::min<int64_t>(offset, 0), columns - std::max<int64_t>(offset, 0)));
  const Array i = iota({n}, 0, DType::i64);
  return last[{ellipsis, i + std::max<int64_t>(-offset, 0), i + std::max<int64_t>(offset, 0)}];
}

Array trace(const Operand& x, int64_t offset, int64_t axis1, int64_t axis2) {
  const AtLine line(x.loc());
  return composite(fmt::format("trace {} {} {}", offset, axis1, axis2), {x.as_array()},
                   [&](const Arrays& in) { return sum(diagonal(in[0], offset, axis1, axis2), -1); });
}

Array diag(const Operand& x, int64_t k) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  if (a.ndim() == 2) return diagonal(x, k);
  if (a.ndim() != 1) throw_user<ShapeError>("diag", to_string(a.aval()), "one or two axes", "", user_line(x.loc()));
  const Size extent = k < 0 ? Size(a.size()) - k : Size(a.size()) + k;
  const int64_t n =
      extent.value("diag", fmt::format("an extent of the matrix with diagonal {}", k), user_line(x.loc()));
  check_extents("diag", {n, n}, a.dtype(), user_line(x.loc()));
  // The vector, shifted, as each row; and zero off the diagonal.
  const Array row = neap::pad(a, {std::max<int64_t>(k, 0)}, {std::max<int64_t>(-k, 0)});
  const Array on = iota({n, n}, 1, DType::i64) == iota({n, n}, 0, DType::i64) + k;
  return where(on, broadcast_to(row, {n, n}), zeros({n, n}, a.dtype()));
}

Array diff(const Operand& x, int64_t times, int64_t axis) {
  const AtLine line(x.loc());
  Array a = x.as_array();
  axis = axis_of(x, axis, "diff");
  if (times < 0) throw_user<ShapeError>("diff", fmt::format("{} times", times), "0 or more", "", user_line(x.loc()));
  if (times >= a.shape(axis)) return slice_in_dim(a, 0, 0, axis);
  for (int64_t i = 0; i < times; ++i) {
    const int64_t n = a.shape(axis);
    const Array right = slice_in_dim(a, 1, n, axis), left = slice_in_dim(a, 0, n - 1, axis);
    a = a.dtype() == DType::bool_ ? right != left : right - left;
  }
  return a;
}

Array gradient(const Operand& x, double spacing, int64_t axis) {
  const AtLine line(x.loc());
  const Array a = x.as(to_float_dtype(x.dtype()));
  axis = axis_of(x, axis, "gradient");
  const int64_t n = a.shape(axis);
  if (n < 2)
    throw_user<ShapeError>("gradient", fmt::format("axis {} of {}", axis, to_string(a.aval())), "two elements or more",
                           "", user_line(x.loc()));
  const auto cut = [&](int64_t begin, int64_t end) { return slice_in_dim(a, begin, end, axis); };
  return concatenate({(cut(1, 2) - cut(0, 1)) / spacing, (cut(2, n) - cut(0, n - 2)) * 0.5 / spacing,
                      (cut(n - 1, n) - cut(n - 2, n - 1)) / spacing},
                     axis);
}

}  // namespace neap
