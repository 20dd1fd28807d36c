// Gathers and scatters of windows, as gathers and scatters by one index for each element of the windowed axes; axes
// that a window spans whole are read and written whole.
#include <neap/creation.h>
#include <neap/lax.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap::lax {

using namespace tracing;
using Loc = std::source_location;

namespace {

bool holds(const Shape& list, int64_t axis) { return std::ranges::find(list, axis) != list.end(); }

// Site is a gather or scatter whose axes are named alike: `dropped` axes are the collapsed or inserted ones.
struct Site {
  std::string_view op;
  const Array& x;
  Array index;  // [..., k], i32 or i64
  const Shape &dropped, &start_map, &operand_batch, &index_batch;
  Shape sizes;  // of a window, one for each axis of x
  Loc loc;

  int64_t rank() const { return x.ndim(); }
  Shape batch() const { return Shape(index.shape().begin(), index.shape().end() - 1); }
  bool is_offset(int64_t axis) const { return !holds(dropped, axis) && !holds(operand_batch, axis); }
  [[noreturn]] void refuse(std::string got, std::string expected) const {
    throw_user<ShapeError>(op, std::move(got), std::move(expected), "", loc);
  }

  void check() const {
    const auto ascending_axes = [&](const Shape& axes, int64_t of, std::string_view what, bool ascending) {
      Shape sorted = axes;
      std::ranges::sort(sorted);
      const bool apart = std::ranges::adjacent_find(sorted) == sorted.end();
      if (!apart || (ascending && sorted != axes) || (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= of)))
        refuse(fmt::format("{} {}", what, to_string(axes)), fmt::format("different axes, 0 or more and below {}", of));
    };
    ascending_axes(dropped, rank(), "collapsed or inserted axes", true);
    ascending_axes(start_map, rank(), "the map of starts", false);
    ascending_axes(operand_batch, rank(), "the operand's batch axes", true);
    ascending_axes(index_batch, index.ndim() - 1, "batch axes of the index", false);
    if (std::ssize(start_map) != index.shape().back())
      refuse(fmt::format("index {} for a map of {}", to_string(index.shape()), start_map.size()),
             "one component for each axis of it");
    if (operand_batch.size() != index_batch.size())
      refuse(fmt::format("{} batch axes of the operand, {} of the index", operand_batch.size(), index_batch.size()),
             "as many");
    for (size_t i = 0; i < operand_batch.size(); ++i)
      if (x.shape(operand_batch[i]) != index.shape(index_batch[i]) || holds(dropped, operand_batch[i]) ||
          holds(start_map, operand_batch[i]))
        refuse(fmt::format("batch axis {} of {} with axis {} of index {}", operand_batch[i], to_string(x.shape()),
                           index_batch[i], to_string(index.shape())),
               "axes of one length that serve nothing else");
    for (int64_t axis = 0; axis < rank(); ++axis) {
      const int64_t n = sizes[static_cast<size_t>(axis)], most = is_offset(axis) ? x.shape(axis) : 1;
      if (n < 0 || n > most || n > x.shape(axis))
        refuse(fmt::format("windows {} of {}", to_string(sizes), to_string(x.shape())),
               fmt::format("at most {} elements along axis {}", std::min(most, x.shape(axis)), axis));
    }
  }

  // Component i of the index: [...].
  Array component(size_t i) const { return index[{ellipsis, static_cast<int64_t>(i)}]; }
  Array clamped(size_t i) const {
    const int64_t axis = start_map[i];
    return clip(component(i), 0, x.shape(axis) - sizes[static_cast<size_t>(axis)]);
  }
  // Whether each window lies within x.
  Array fits() const {
    Array all = ones(batch(), DType::bool_);
    for (size_t i = 0; i < start_map.size(); ++i) {
      const Array at = component(i);
      all = all & (at >= 0) & (at <= x.shape(start_map[i]) - sizes[static_cast<size_t>(start_map[i])]);
    }
    return all;
  }
};

/// Expanded is an index of single elements: of the axes `indexed` (ascending), over (batch, the extents of `windowed`).
struct Expanded {
  Shape indexed, windowed;
  Array index;  // [batch..., windows..., indexed]
};

// `starts` are those of the map's axes.
Expanded expanded(const Site& site, const std::vector<Array>& starts, const std::function<bool(int64_t)>& is_indexed) {
  Expanded e;
  for (int64_t axis = 0; axis < site.rank(); ++axis) {
    if (!is_indexed(axis)) continue;
    e.indexed.push_back(axis);
    if (site.is_offset(axis) && site.sizes[static_cast<size_t>(axis)] != 1) e.windowed.push_back(axis);
  }
  Shape shape = site.batch();
  const int64_t batch = std::ssize(shape);
  for (const int64_t axis : e.windowed) shape.push_back(site.sizes[static_cast<size_t>(axis)]);
  const DType dtype = site.index.dtype();
  Shape lead(static_cast<size_t>(batch));
  std::iota(lead.begin(), lead.end(), 0);
  std::vector<Array> columns;
  for (const int64_t axis : e.indexed) {
    Array at = zeros(shape, dtype);
    if (const auto it = std::ranges::find(site.start_map, axis); it != site.start_map.end())
      at = broadcast_in_dim(starts[static_cast<size_t>(it - site.start_map.begin())], shape, lead);
    if (const auto it = std::ranges::find(site.operand_batch, axis); it != site.operand_batch.end())
      at = iota(shape, site.index_batch[static_cast<size_t>(it - site.operand_batch.begin())], dtype);
    if (const auto it = std::ranges::find(e.windowed, axis); it != e.windowed.end())
      at = at + iota(shape, batch + (it - e.windowed.begin()), dtype);
    columns.push_back(at);
  }
  e.index = stack(columns, std::ssize(shape));
  return e;
}

// Where each of (batch, windowed axes, other axes of x), the axes of what a gather gives, goes so that the axes of x
// are in order behind the batch.
Shape in_operand_order(const Site& site, const Expanded& e) {
  const int64_t batch = std::ssize(site.batch());
  Shape order(static_cast<size_t>(batch));
  std::iota(order.begin(), order.end(), 0);
  int64_t window = batch, other = batch + std::ssize(e.windowed);
  for (int64_t axis = 0; axis < site.rank(); ++axis) {
    if (holds(e.windowed, axis))
      order.push_back(window++);
    else if (!holds(e.indexed, axis))
      order.push_back(other++);
  }
  return order;
}

// The axes of a result of `rank` axes with a window's at `offset`: the batch's, then the window's.
Shape batch_first(int64_t rank, const Shape& offset) {
  Shape order;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!holds(offset, axis)) order.push_back(axis);
  order.insert(order.end(), offset.begin(), offset.end());
  return order;
}

Array as_index(const Operand& index, const Array& x, std::string_view op, Loc loc) {
  if (!is_integer(index.dtype()))
    throw_user<DTypeError>(op, "an index of " + std::string(name(index.dtype())), "integers", "", loc);
  if (index.shape().empty())
    throw_user<ShapeError>(op, "a scalar index", "an index [..., k]", "reshape it to [1]", loc);
  int64_t longest = 0;
  for (const int64_t n : x.shape()) longest = std::max(longest, n);
  const bool is_short = size_of(index.dtype()) < 4 || index.dtype() == DType::i32;
  return index.as(is_short ? index_dtype(longest) : DType::i64);
}

Array fill_of(DType dtype) {
  if (is_inexact(dtype)) return full({}, std::numeric_limits<double>::quiet_NaN(), dtype);
  if (dtype == DType::bool_) return full({}, true, dtype);
  const Array low = zeros({}, dtype);
  return is_unsigned(dtype) ? bitwise_not(low) : shift_left(ones({}, dtype), static_cast<int>(8 * size_of(dtype)) - 1);
}

void check_offset(const Site& site, const Shape& offset, int64_t rank) {
  int64_t axes = 0;
  for (int64_t axis = 0; axis < site.rank(); ++axis) axes += site.is_offset(axis);
  const bool ascending = std::ranges::is_sorted(offset) && std::ranges::adjacent_find(offset) == offset.end();
  if (std::ssize(offset) != axes || !ascending || (!offset.empty() && (offset[0] < 0 || offset.back() >= rank)))
    site.refuse(fmt::format("axes {} of a window", to_string(offset)),
                fmt::format("{}, ascending, below {}", axes, rank));
}

Array scattered(Op kind, std::string_view op, const Operand& x, const Operand& index, const Operand& updates,
                const ScatterDims& dims, GatherMode mode) {
  const AtLine line(x.loc());
  const Loc loc = user_line(x.loc());
  const Array a = x.as_array(), y = updates.as(a.dtype());
  Site site{op,
            a,
            as_index(index, a, op, loc),
            dims.inserted,
            dims.start_map,
            dims.operand_batch,
            dims.index_batch,
            Shape(static_cast<size_t>(a.ndim()), 1),
            loc};
  check_offset(site, dims.window, y.ndim());
  for (int64_t axis = 0, next = 0; axis < a.ndim(); ++axis)
    if (site.is_offset(axis)) site.sizes[static_cast<size_t>(axis)] = y.shape(dims.window[static_cast<size_t>(next++)]);
  if (a.size() == 0) return a;
  site.check();
  const Array moved = transpose(y, batch_first(y.ndim(), dims.window));
  Shape expected = site.batch();
  for (int64_t axis = 0; axis < a.ndim(); ++axis)
    if (site.is_offset(axis)) expected.push_back(site.sizes[static_cast<size_t>(axis)]);
  if (moved.shape() != expected)
    site.refuse(fmt::format("updates {} at index {}", to_string(y.shape()), to_string(site.index.shape())),
                "the axes of the index but its last, and a window's");
  const bool clips = mode == GatherMode::clip;
  std::vector<Array> starts;
  for (size_t i = 0; i < dims.start_map.size(); ++i) {
    // A window that is dropped starts behind the end.
    const int64_t end = a.shape(dims.start_map[i]);
    starts.push_back(clips || mode == GatherMode::promise_in_bounds ? site.clamped(i)
                                                                    : where(site.fits(), site.component(i), end));
  }
  const auto is_indexed = [&](int64_t axis) {
    if (holds(dims.operand_batch, axis)) return true;
    return site.sizes[static_cast<size_t>(axis)] < a.shape(axis) || (!clips && holds(dims.start_map, axis));
  };
  // One axis at least is indexed.
  bool any = false;
  for (int64_t axis = 0; axis < a.ndim(); ++axis) any = any || is_indexed(axis);
  if (!any) {
    Shape longer = a.shape();
    longer.insert(longer.begin(), 1);
    const auto next = [](Shape axes) {
      for (int64_t& axis : axes) ++axis;
      return axes;
    };
    ScatterDims wider{dims.window, next(dims.inserted), next(dims.start_map), {}, {}};
    wider.inserted.insert(wider.inserted.begin(), 0);
    wider.start_map.insert(wider.start_map.begin(), 0);
    Shape column = site.batch();
    column.push_back(1);
    const Array first = concatenate({zeros(column, site.index.dtype()), site.index}, std::ssize(column) - 1);
    return reshape(scattered(kind, op, reshape(a, longer), first, y, wider, GatherMode::promise_in_bounds), a.shape());
  }
  const Expanded e = expanded(site, starts, is_indexed);
  // From (batch, axes of x in order) without dropped ones, to what the node takes: (batch, windowed, others).
  Shape whole = site.batch();
  for (int64_t axis = 0; axis < a.ndim(); ++axis)
    if (holds(e.windowed, axis) || !holds(e.indexed, axis)) whole.push_back(site.sizes[static_cast<size_t>(axis)]);
  const Array fitted = transpose(reshape(moved, whole), inverse(in_operand_order(site, e)));
  const IndexMode node_mode =
      clips || mode == GatherMode::promise_in_bounds ? IndexMode::promise_in_bounds : IndexMode::fill_or_drop;
  return apply(kind, {a, e.index, fitted}, {{Attr::axes, e.indexed}, {Attr::mode, static_cast<int64_t>(node_mode)}},
               loc);
}

}  // namespace

Array gather(const Operand& x, const Operand& index, const GatherDims& dims, const Shape& sizes, GatherMode mode) {
  const AtLine line(x.loc());
  const Loc loc = user_line(x.loc());
  Array a = x.as_array();
  if (std::ssize(sizes) != a.ndim())
    throw_user<ShapeError>("gather", fmt::format("windows {} of {}", to_string(sizes), to_string(a.aval())),
                           "an extent for each axis", "", loc);
  const Array at = as_index(index, a, "gather", loc);
  const Site site{"gather", a, at, dims.collapsed, dims.start_map, dims.operand_batch, dims.index_batch, sizes, loc};
  site.check();
  Shape offset_sizes, batch = site.batch();
  for (int64_t axis = 0; axis < a.ndim(); ++axis)
    if (site.is_offset(axis)) offset_sizes.push_back(sizes[static_cast<size_t>(axis)]);
  const int64_t rank = std::ssize(batch) + std::ssize(offset_sizes);
  check_offset(site, dims.offset, rank);
  std::vector<Array> starts;
  for (size_t i = 0; i < dims.start_map.size(); ++i) starts.push_back(site.clamped(i));
  const auto is_indexed = [&](int64_t axis) {
    return holds(dims.operand_batch, axis) ||
           (holds(dims.start_map, axis) && sizes[static_cast<size_t>(axis)] < a.shape(axis));
  };
  // Where no start is given a window begins at 0.
  Array cut = a;
  for (int64_t axis = 0; axis < a.ndim(); ++axis)
    if (!is_indexed(axis)) cut = slice_in_dim(cut, 0, sizes[static_cast<size_t>(axis)], axis);
  Array windows;
  bool any = false;
  for (int64_t axis = 0; axis < a.ndim(); ++axis) any = any || is_indexed(axis);
  Shape result = batch;
  result.insert(result.end(), offset_sizes.begin(), offset_sizes.end());
  if (any) {
    const Expanded e = expanded(site, starts, is_indexed);
    const Array taken =
        apply(Op::gather, {cut, e.index},
              {{Attr::axes, e.indexed}, {Attr::mode, static_cast<int64_t>(IndexMode::promise_in_bounds)}}, loc);
    windows = reshape(transpose(taken, in_operand_order(site, e)), result);
  } else {
    windows = broadcast_to(reshape(cut, offset_sizes), result);
  }
  if (mode == GatherMode::fill) {
    Shape over(batch);
    over.resize(result.size(), 1);
    windows = where(reshape(site.fits(), over), windows, fill_of(a.dtype()));
  }
  return transpose(windows, inverse(batch_first(rank, dims.offset)));
}

Array scatter(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
              GatherMode mode) {
  return scattered(Op::scatter_set, "scatter", x, index, updates, dims, mode);
}
Array scatter_add(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
                  GatherMode mode) {
  return scattered(Op::scatter_add, "scatter_add", x, index, updates, dims, mode);
}
Array scatter_mul(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
                  GatherMode mode) {
  return scattered(Op::scatter_mul, "scatter_mul", x, index, updates, dims, mode);
}
Array scatter_min(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
                  GatherMode mode) {
  return scattered(Op::scatter_min, "scatter_min", x, index, updates, dims, mode);
}
Array scatter_max(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
                  GatherMode mode) {
  return scattered(Op::scatter_max, "scatter_max", x, index, updates, dims, mode);
}

}  // namespace neap::lax
