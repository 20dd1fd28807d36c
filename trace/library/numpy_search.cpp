// Functions of numpy.h that look for elements and count them.
#include <neap/creation.h>
#include <neap/numpy.h>

#include <algorithm>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

void require_vector(const Operand& x, std::string_view what, std::string_view op) {
  if (x.shape().size() == 1) return;
  throw_user<ShapeError>(op, fmt::format("{} is {}", what, to_string(x.as_array().aval())), "one axis", "",
                         user_line(x.loc()));
}
void require_size(const Operand& x, int64_t size, std::string_view op) {
  check_extents(op, {size}, DType::c128, user_line(x.loc()));
}

// Returns x < y where NaN is larger than anything, as sort() has it.
Array sorts_before(const Array& x, const Array& y) {
  return is_float(x.dtype()) ? (x < y) | (isnan(y) & !isnan(x)) : x < y;
}

}  // namespace

// Searches by halves: as many steps as the length has bits, unrolled, so that they fuse into the kernel that reads the
// result.
Array searchsorted(const Operand& x, const Operand& v, bool right) {
  const AtLine line(x.loc());
  require_vector(x, "the sorted array", "searchsorted");
  const std::array<const Operand*, 2> operands{&x, &v};
  const DType dtype = common_dtype(operands);
  const int64_t n = x.shape()[0];
  const DType counted = n < (int64_t{1} << 30) ? DType::i32 : DType::i64;
  return composite(fmt::format("searchsorted {}", right), {x.as(dtype), v.as(dtype)}, [&](const Arrays& in) {
    const Array& sorted = in[0];
    const Array& value = in[1];
    Array low = zeros(value.shape(), counted), high = full(value.shape(), n, counted);
    for (uint64_t left = static_cast<uint64_t>(n); left > 0; left >>= 1) {
      const Array middle = (low + high) >> 1, element = take(sorted, middle);
      const Array after = right ? !sorts_before(value, element) : sorts_before(element, value);
      const Array open = low < high;
      const Array up = open & after, down = open & !after;
      low = where(up, middle + 1, low);
      high = where(down, middle, high);
    }
    return low.astype(index_dtype(n));
  });
}

Array digitize(const Operand& x, const Operand& bins, bool right) {
  const AtLine line(x.loc());
  require_vector(bins, "bins", "digitize");
  const Array b = bins.as_array();
  const int64_t n = b.size();
  const Array value = x.as_array();
  if (n == 0) return zeros(value.shape(), DType::i32);
  return where(b[n - 1] >= b[0], searchsorted(b, value, !right), n - searchsorted(flip(b), value, !right));
}

Array bincount(const Operand& x, int64_t length) {
  const AtLine line(x.loc());
  return bincount(x, ones(x.shape(), index_dtype(element_count(x.shape())), x.loc()), length);
}

Array bincount(const Operand& x, const Array& weights, int64_t length) {
  const AtLine line(x.loc());
  require_size(x, length, "bincount");
  const Array a = ravel(x);
  if (!is_integer(a.dtype()))
    throw_user<DTypeError>("bincount", to_string(a.aval()), "integers", "", user_line(x.loc()));
  const DType dtype = sum_dtype(weights.dtype()), computed = wide(dtype);
  return scatter_add(zeros({length}, computed), expand_dims(maximum(a, 0), -1), ravel(weights.astype(computed)))
      .astype(dtype);
}

std::pair<Array, Array> histogram(const Operand& x, int64_t bins, double low, double high) {
  const AtLine line(x.loc());
  if (bins < 1 || !(low < high))
    throw_user<UserError>("histogram", fmt::format("{} bins from {} to {}", bins, low, high),
                          "low < high, 1 bin or more", "", user_line(x.loc()));
  check_extents("histogram", {bins}, DType::c128, user_line(x.loc()));
  const DType t = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Array edges = linspace(low, high, bins + 1, t);
  const Array values = ravel(x).astype(t);
  const Array bin = where(values == edges[bins], bins, searchsorted(edges, values, true)) - 1;
  const Array inside = (values >= edges[0]) & (values <= edges[bins]);
  const DType count = index_dtype(values.size());
  const Array counted =
      scatter_add(zeros({bins}, count), expand_dims(where(inside, bin, bins), -1), ones(values.shape(), count));
  return {counted.astype(t), edges};
}

Array unique(const Operand& x, int64_t size, std::optional<double> fill) {
  const AtLine line(x.loc());
  require_size(x, size, "unique");
  if (x.as_array().size() == 0 && size > 0 && !fill)
    throw_user<ShapeError>("unique", to_string(x.as_array().aval()), "one element or more, or a fill value", "",
                           user_line(x.loc()));
  const std::string key = fmt::format("unique {} {} {}", size, fill.has_value(), fill.value_or(0));
  return composite(key, {x.as_array()}, [&](const Arrays& in) {
    const Array sorted = sort(ravel(in[0]));
    const int64_t n = sorted.size();
    const Array filled = fill ? full({size}, *fill, sorted.dtype())
                              : broadcast_to(n == 0 ? full({}, 0, sorted.dtype()) : sorted[0], {size});
    if (n == 0) return filled;
    const Array left = slice_in_dim(sorted, 0, n - 1, 0), right = slice_in_dim(sorted, 1, n, 0);
    Array differs = left != right;
    if (is_float(sorted.dtype())) differs = differs & !(isnan(left) & isnan(right));
    const Array first = concatenate({ones({1}, DType::bool_), differs});
    const Array place = cumsum(first.astype(index_dtype(std::max(n, size)))) - 1;
    return filled.at(where(first, place, size), GatherMode::fill).set(sorted);
  });
}

std::vector<Array> nonzero(const Operand& x, int64_t size, int64_t fill) {
  const AtLine line(x.loc());
  require_size(x, size, "nonzero");
  const Array a = x.as_array();
  if (a.ndim() == 0)
    throw_user<ShapeError>("nonzero", to_string(a.aval()), "one axis or more", "atleast_1d()", user_line(x.loc()));
  const DType dtype = index_dtype(std::max(a.size(), size));
  // The flat position of each nonzero element, -1 where there are fewer.
  const Array flat = composite(fmt::format("nonzero {}", size), {a}, [&](const Arrays& in) {
    const Array found = ravel(in[0]) != 0;
    if (found.size() == 0) return full({size}, -1, dtype);
    const Array place = where(found, cumsum(found.astype(dtype)) - 1, size);
    return full({size}, -1, dtype).at(place, GatherMode::fill).set(iota({found.size()}, 0, dtype));
  });
  std::vector<Array> result(static_cast<size_t>(a.ndim()));
  Array rest = flat;
  for (int64_t axis = a.ndim() - 1; axis >= 0; --axis) {
    const int64_t n = std::max<int64_t>(a.shape(axis), 1);
    result[static_cast<size_t>(axis)] = where(flat < 0, fill, mod(rest, n)).astype(dtype);
    rest = floor_divide(rest, n);
  }
  return result;
}

std::pair<Array, Array> top_k(const Operand& x, int64_t k) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  if (a.ndim() == 0 || k < 0 || k > a.shape(-1))
    throw_user<ShapeError>("top_k", fmt::format("the {} largest of {}", k, to_string(a.aval())),
                           "at most as many as the last axis has", "", user_line(x.loc()));
  const Array index = slice_in_dim(argsort(a, -1, {.descending = true}), 0, k, -1);
  return {take_along_axis(a, index, -1), index};
}

Array interp(const Operand& x, const Operand& xp, const Operand& fp) {
  const AtLine line(x.loc());
  require_vector(xp, "xp", "interp");
  if (fp.shape() != xp.shape() || xp.shape()[0] == 0)
    throw_user<ShapeError>("interp",
                           "xp " + to_string(xp.as_array().aval()) + " and fp " + to_string(fp.as_array().aval()),
                           "as many of both, one or more", "", user_line(x.loc()));
  const std::array<const Operand*, 3> operands{&x, &xp, &fp};
  const DType dtype = to_float_dtype(common_dtype(operands));
  return composite("interp", {x.as(dtype), xp.as(dtype), fp.as(dtype)}, [&](const Arrays& in) {
    const Array &at = in[0], &from = in[1], &to = in[2];
    const int64_t n = from.size();
    if (n == 1) return where(isnan(at), at, to[0]);
    const Array i = clip(searchsorted(from, at, true), 1, n - 1);
    const Array x0 = take(from, i - 1), y0 = take(to, i - 1);
    const Array dx = take(from, i) - x0, dy = take(to, i) - y0;
    const Array inside = where(dx == 0, y0, y0 + (at - x0) / where(dx == 0, 1, dx) * dy);
    return where(at < from[0], to[0], where(at > from[n - 1], to[n - 1], inside));
  });
}

}  // namespace neap
