// Transposition of gather and scatter.
#include <algorithm>

#include <fmt/format.h>

#include "autodiff/transpose_rules.h"

namespace neap::autodiff {
namespace {

// Returns, of the rows that set the same cell, the one that wins: the last. It is true [B...] also for rows that are
// dropped.
Array winners(const TransposeSite& site, const Array& indices, const Ints& axes) {
  const Shape rows(indices.shape().begin(), indices.shape().end() - 1);
  Shape cells;
  for (const int64_t axis : axes) cells.push_back(site.shape(0)[axis]);
  const int64_t count = element_count(rows);
  const DType dtype = count < (int64_t{1} << 31) ? DType::i32 : DType::i64;
  const Array number = reshape(iota({count}, 0, dtype), rows);
  Ints all(axes.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  const Array owner = scatter_axes(Op::scatter_set, zeros(cells, dtype), indices, number, all, index_mode(site.node));
  return gather_or_zero(owner, indices, all, index_mode(site.node)) == number;
}

}  // namespace

// A read that was clamped sends its cotangent to the element that it read. Half types are added up in f32. A table that
// is read several times has one gradient of its size, not one for each.
Array transpose_gather(const TransposeSite& site, const Array& so_far) {
  const IndexMode mode = index_mode(site.node) == IndexMode::clip ? IndexMode::clamp_update : index_mode(site.node);
  const Array start = is_zero(so_far) ? zeros(site.shape(0), wide(site.aval(0).dtype)) : so_far;
  return scatter_axes(Op::scatter_add, start, site.in[1], widened(site.ct()), site.node.attrs.ints(Attr::axes), mode);
}

Array transpose_window(const TransposeSite& site, const Array& so_far) {
  const Array window = tracing::window_at(so_far, site.in[1], site.ct().shape(), site.node.loc);
  return tracing::with_window_at(so_far, window + widened(site.ct()), site.in[1], site.node.loc);
}

Arrays transpose_scatter(const TransposeSite& site) {
  const Ints& axes = site.node.attrs.ints(Attr::axes);
  const IndexMode mode = index_mode(site.node);
  const Array &ct = site.ct(), &indices = site.in[1];
  const auto read = [&] { return gather_or_zero(ct, indices, axes, mode); };
  Arrays result(3);
  switch (site.node.op) {
    case Op::scatter_add:
      if (site.linear[0]) result[0] = ct;
      if (site.linear[2]) result[2] = read();
      return result;
    case Op::scatter_set:
      if (site.linear[0]) result[0] = scatter_axes(Op::scatter_set, ct, indices, site.zeros_of(2), axes, mode);
      if (site.linear[2]) {
        result[2] = read();
        const Array wins = over_rows(winners(site, indices, axes), result[2].shape());
        result[2] = select(wins, result[2], zeros_like(result[2]));
      }
      return result;
    case Op::scatter_mul:
      if (site.linear[2]) not_linear(site.node);
      result[0] = scatter_axes(Op::scatter_mul, ct, indices, site.in[2], axes, mode);
      return result;
    default: break;
  }
  not_linear(site.node);
}

}  // namespace neap::autodiff
