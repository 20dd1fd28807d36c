// Tangents of gather and scatter, and the masks of rows that are out of range.
#include <algorithm>
#include <numeric>

#include "autodiff/jvp_rules.h"

namespace neap::autodiff {
namespace {

// Returns whether a dtype holds no index outside [-n, n) (signed) or [0, n) (unsigned).
bool always_in_range(DType dtype, int64_t n) {
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const int magnitude = is_signed(dtype) ? bits - 1 : bits;
  return magnitude < 63 && n >= (int64_t{1} << magnitude);
}

// Returns the tangent of scatter_mul: x times the product of the updates that hit it.
Array multiplied(const JvpSite& site, const Ints& axes, IndexMode mode) {
  const Array& indices = site.in[1];
  Array result = is_zero(site.tangent[0]) ? Array() : site.apply({site.tangent[0], indices, site.in[2]});
  if (is_zero(site.tangent[2])) return result;
  const Array x = widened(site.in[0]), u = widened(site.in[2]), one = ones_like(u), nought = zeros_like(u);
  const auto read = [&](const Array& a) { return gather_or_zero(a, indices, axes, mode); };
  const auto total = [&](const Array& rows) {
    return scatter_axes(Op::scatter_add, zeros_like(x), indices, rows, axes, mode);
  };
  // Zeros are counted separately in the product of the other updates of the same cell, so that nothing is divided by
  // one.
  const Array is_nought = u == 0, factor = select(is_nought, one, u), counted = select(is_nought, one, nought);
  const Array products = read(scatter_axes(Op::scatter_mul, ones_like(x), indices, factor, axes, mode)) / factor;
  const Array noughts = read(total(counted)) - counted;
  // A single zero among the others is multiplied in, for its own derivative; of several the product's is zero too.
  const Array zeros_of_u = select(is_nought, u, nought);
  const Array zero = select(noughts == 1, products * (read(total(zeros_of_u)) - zeros_of_u), nought);
  const Array term = widened(site.tangent[2]) * read(x) * select(noughts > 0, zero, products);
  return sum_of(result, convert(total(term), site.out.dtype()));
}

// Returns the tangent of scatter_min and scatter_max: those that reach the result share its derivative equally. A NaN
// that was there reaches it.
Array extreme(const JvpSite& site, const Ints& axes, IndexMode mode) {
  const Array &x = site.in[0], &indices = site.in[1], &u = site.in[2];
  const Array kept = (x == site.out) | isnan(x), won = u == gather_or_zero(site.out, indices, axes, mode);
  const auto share = [&](const Array& of_x, const Array& of_u) {
    const Array nought = zeros(x.shape(), wide(x.dtype()));
    const Array total = is_zero(of_x) ? nought : select(kept, widened(of_x), nought);
    if (is_zero(of_u)) return total;
    const Array rows = select(won, widened(of_u), zeros(u.shape(), wide(u.dtype())));
    return scatter_axes(Op::scatter_add, total, indices, rows, axes, mode);
  };
  return convert(share(site.tangent[0], site.tangent[2]) / share(ones_like(x), ones_like(u)), x.dtype());
}

}  // namespace

IndexMode index_mode(const Node& node) { return static_cast<IndexMode>(node.attrs.integer(Attr::mode)); }

Array gather_axes(const Array& x, const Array& indices, const Ints& axes, IndexMode mode) {
  return tracing::apply(Op::gather, {x, indices}, {{Attr::axes, axes}, {Attr::mode, static_cast<int64_t>(mode)}}, {});
}

Array scatter_axes(Op op, const Array& x, const Array& indices, const Array& updates, const Ints& axes,
                   IndexMode mode) {
  return tracing::apply(op, {x, indices, updates}, {{Attr::axes, axes}, {Attr::mode, static_cast<int64_t>(mode)}}, {});
}

std::optional<Array> in_range(const Array& indices, const Shape& extents) {
  const Shape rows(indices.shape().begin(), indices.shape().end() - 1);
  const DType dtype = indices.dtype();
  std::optional<Array> all;
  for (int64_t j = 0; j < static_cast<int64_t>(extents.size()); ++j) {
    const int64_t n = extents[j];
    if (always_in_range(dtype, n)) continue;
    const Array column = reshape(slice_in_dim(indices, j, j + 1, -1), rows);
    // n and -n fit the dtype, or every index were in range.
    Array inside = column < full(rows, n, dtype);
    if (is_signed(dtype)) inside = inside & (column >= full(rows, -n, dtype));
    all = all ? *all & inside : inside;
  }
  return all;
}

Array over_rows(const Array& rows, const Shape& shape) {
  Shape axes(rows.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  return rows.shape() == shape ? rows : broadcast_in_dim(rows, shape, axes);
}

Array gather_or_zero(const Array& x, const Array& indices, const Ints& axes, IndexMode scatter_mode) {
  Shape extents;
  for (const int64_t axis : axes) extents.push_back(x.shape()[axis]);
  if (std::ranges::find(extents, 0) != extents.end()) {  // every row is dropped
    Shape shape(indices.shape().begin(), indices.shape().end() - 1);
    for (int64_t axis = 0; axis < x.ndim(); ++axis)
      if (std::ranges::find(axes, axis) == axes.end()) shape.push_back(x.shape()[axis]);
    return zeros(shape, x.dtype());
  }
  const Array read =
      gather_axes(x, indices, axes, scatter_mode == IndexMode::promise_in_bounds ? scatter_mode : IndexMode::clip);
  if (scatter_mode == IndexMode::promise_in_bounds || scatter_mode == IndexMode::clamp_update) return read;
  const std::optional<Array> inside = in_range(indices, extents);
  return inside ? select(over_rows(*inside, read.shape()), read, zeros_like(read)) : read;
}

Array jvp_gather(const JvpSite& site) {
  // What mode fill reads out of range does not depend on the operand.
  if (index_mode(site.node) == IndexMode::fill_or_drop)
    return gather_or_zero(site.tangent[0], site.in[1], site.node.attrs.ints(Attr::axes), IndexMode::fill_or_drop);
  return site.apply({site.tangent[0], site.in[1]});
}

Array jvp_scatter(const JvpSite& site) {
  const Ints& axes = site.node.attrs.ints(Attr::axes);
  const Arrays& t = site.tangent;
  switch (site.node.op) {
    case Op::scatter_add:
      if (is_zero(t[2])) return t[0];
      [[fallthrough]];
    case Op::scatter_set:  // of repeated rows, the same one wins among the tangents
      return site.apply({or_zeros(t[0], site.in[0]), site.in[1], or_zeros(t[2], site.in[2])});
    case Op::scatter_mul: return multiplied(site, axes, index_mode(site.node));
    case Op::scatter_min:
    case Op::scatter_max: return extreme(site, axes, index_mode(site.node));
    default: break;
  }
  throw InternalError("jvp: no scatter");
}

}  // namespace neap::autodiff
