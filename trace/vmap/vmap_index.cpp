// Batching of gather and scatter, and of windows whose place differs between examples.
#include <algorithm>
#include <limits>
#include <numeric>

#include "trace/vmap/vmap_rules.h"

namespace neap::tracing {
namespace {

bool holds(DType dtype, int64_t n) {
  const int bits = static_cast<int>(size_of(dtype)) * 8 - (is_signed(dtype) ? 1 : 0);
  return bits >= 63 || n < (int64_t{1} << bits);
}

// Returns indices [B, I..., k] with the example's number as first column.
Array with_example_column(const Array& indices, int64_t size) {
  const DType dtype = holds(indices.dtype(), size) ? indices.dtype() : DType::i64;
  Shape column = indices.shape();
  column.back() = 1;
  return concatenate({iota(column, 0, dtype), convert(indices, dtype)}, -1);
}

Attrs indexed_attrs(Ints axes, int64_t mode) { return {{Attr::axes, std::move(axes)}, {Attr::mode, mode}}; }

// Windows describes the windows of dynamic_slice with a start [B, rank] for each example, as rows of indices. Axes that
// the window spans whole are not indexed.
struct Windows {
  Ints axes;      // indexed, of the operand without batch
  Array indices;  // [B, extent of each indexed axis..., axes]
  Ints order;     // window axis d (without batch) is axis order[d] of (indexed axes..., other axes...)
};

Windows windows_of(const Array& start, const Shape& whole, const Shape& window, int64_t size) {
  Windows w;
  Shape extents;
  Ints others;
  for (int64_t d = 0; d < static_cast<int64_t>(whole.size()); ++d) {
    if (window[d] == whole[d]) {
      others.push_back(d);
    } else {
      w.axes.push_back(d);
      extents.push_back(window[d]);
    }
  }
  const Shape rows = after(size, extents);
  Shape column = rows;
  column.push_back(1);
  std::vector<Array> columns;
  for (size_t j = 0; j < w.axes.size(); ++j) {
    const int64_t d = w.axes[j];
    const Array begin = clamp(reshape(slice_in_dim(start, d, d + 1, 1), {size}), 0, whole[d] - window[d]);
    const Array position = iota(rows, static_cast<int64_t>(j) + 1, DType::i64) + broadcast_in_dim(begin, rows, {0});
    columns.push_back(reshape(position, column));
  }
  column.back() = 0;
  w.indices = columns.empty() ? zeros(column, DType::i64) : concatenate(columns, -1);
  Ints places = w.axes;
  places.insert(places.end(), others.begin(), others.end());
  w.order.resize(places.size());
  for (size_t i = 0; i < places.size(); ++i) w.order[places[i]] = static_cast<int64_t>(i);
  return w;
}

constexpr auto kInBounds = static_cast<int64_t>(IndexMode::promise_in_bounds);

}  // namespace

Array vmap_gather(const VmapSite& site) {
  const Ints& axes = site.node.attrs.ints(Attr::axes);
  const int64_t mode = site.node.attrs.integer(Attr::mode);
  if (!site.batched[0]) return site.apply(site.in, site.node.attrs);
  if (!site.batched[1]) {
    const Array read = site.apply(site.in, indexed_attrs(shifted(axes), mode));
    return moveaxis(read, site.rank(1) - 1, 0);
  }
  return site.apply({site.in[0], with_example_column(site.in[1], site.size)},
                    indexed_attrs(after(0, shifted(axes)), mode));
}

Array vmap_scatter(const VmapSite& site) {
  const Ints& axes = site.node.attrs.ints(Attr::axes);
  const int64_t mode = site.node.attrs.integer(Attr::mode);
  const Array operand = site.with_batch(0), updates = site.with_batch(2);
  if (!site.batched[1])
    return site.apply({operand, site.in[1], moveaxis(updates, 0, site.rank(1) - 1)},
                      indexed_attrs(shifted(axes), mode));
  return site.apply({operand, with_example_column(site.in[1], site.size), updates},
                    indexed_attrs(after(0, shifted(axes)), mode));
}

Array vmap_dynamic_slice(const VmapSite& site) {
  const Shape& window = site.node.attrs.ints(Attr::shape);
  if (!site.batched[1]) {
    const Array start = concatenate({zeros({1}, DType::i64), site.in[1]});
    return site.apply({site.in[0], start}, {{Attr::shape, after(site.size, window)}});
  }
  const Windows w = windows_of(site.in[1], site.shape(0), window, site.size);
  if (w.axes.empty()) return site.with_batch(0);
  const Array read = site.batched[0]
                         ? apply(Op::gather, {site.in[0], with_example_column(w.indices, site.size)},
                                 indexed_attrs(after(0, shifted(w.axes)), kInBounds), site.node.loc)
                         : apply(Op::gather, {site.in[0], w.indices}, indexed_attrs(w.axes, kInBounds), site.node.loc);
  return transpose(read, after(0, shifted(w.order)));
}

Array vmap_dynamic_update_slice(const VmapSite& site) {
  const Array operand = site.with_batch(0), update = site.with_batch(1);
  if (!site.batched[2]) {
    const Array start = concatenate({zeros({1}, DType::i64), site.in[2]});
    return site.apply({operand, update, start}, {});
  }
  const Windows w = windows_of(site.in[2], site.shape(0), site.shape(1), site.size);
  if (w.axes.empty()) return update;
  Ints back(w.order.size());
  for (size_t i = 0; i < back.size(); ++i) back[w.order[i]] = static_cast<int64_t>(i);
  return apply(Op::scatter_set,
               {operand, with_example_column(w.indices, site.size), transpose(update, after(0, shifted(back)))},
               indexed_attrs(after(0, shifted(w.axes)), kInBounds), site.node.loc);
}

}  // namespace neap::tracing
