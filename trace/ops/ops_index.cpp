// Indexing: gather, take, x[...], x.at(...).
#include <neap/creation.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "trace/graph/window.h"
#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

Ints all_axes(int64_t ndim) {
  Ints axes(ndim);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Replaces a promise that the caller makes by the checks of clip: kernels take promise_in_bounds at its word, and would
// read outside the array where it is wrong. That mode is for rules that know.
int64_t checked(GatherMode mode) {
  return static_cast<int64_t>(mode == GatherMode::promise_in_bounds ? GatherMode::clip : mode);
}

Array gather_axes(const Array& x, const Array& index, Ints axes, GatherMode mode, std::source_location loc) {
  return apply(Op::gather, {x, index}, {{Attr::axes, std::move(axes)}, {Attr::mode, checked(mode)}}, loc);
}

Array scatter_axes(Op op, const Array& x, const Array& index, const Array& updates, Ints axes, GatherMode mode,
                   std::source_location loc) {
  return apply(op, {x, index, updates}, {{Attr::axes, std::move(axes)}, {Attr::mode, checked(mode)}}, loc);
}

Array scatter(Op op, const Array& x, const Array& index, const Array& updates, GatherMode mode,
              std::source_location loc) {
  return scatter_axes(op, x, index, updates, all_axes(x.ndim()), mode, loc);
}

// Returns integer arrays of any shapes as the columns of one index array.
Array columns(const std::vector<Array>& indices, std::source_location loc) {
  DType dtype = indices[0].dtype();
  Shape shape;
  for (const Array& i : indices) {
    if (!is_integer(i.dtype()))
      throw_user<DTypeError>("index", "an index is " + to_string(i.aval()), "an integer array",
                             i.dtype() == DType::bool_ ? "masks have no static size: use where()"
                                                       : "convert it, for example with astype(i32)",
                             user_line(loc));
    dtype = promote(dtype, i.dtype());
    const auto joined = broadcast_shapes(shape, i.shape());
    if (!joined)
      throw_user<ShapeError>(
          "index", "index arrays of shapes " + to_string(shape) + " and " + to_string(i.shape()) + " do not broadcast",
          "", "", user_line(loc));
    shape = *joined;
  }
  if (!is_integer(dtype)) dtype = DType::i64;  // u64 with a signed type
  std::vector<Array> each;
  for (const Array& i : indices) each.push_back(expand_dims(fit(Operand(i, loc), shape, dtype), -1));
  return concatenate(each, -1, loc);
}

}  // namespace

Array gather(const Operand& x, const Operand& index, GatherMode mode) {
  const Array a = x.as_array();
  return gather_axes(a, index.as_array(), all_axes(a.ndim()), mode, x.loc());
}

// Returns updates of an array for a place of this shape.
static Array fit_updates(std::string_view op, const Operand& y, const Shape& place, DType dtype,
                         std::source_location loc) {
  if (broadcast_shapes(y.shape(), place) != place)
    throw_user<ShapeError>(op, "updates of shape " + to_string(y.shape()) + " for a place of shape " + to_string(place),
                           "a shape that broadcasts to the place's", "", user_line(loc));
  return fit(y, place, dtype);
}

Array scatter_add(const Operand& x, const Operand& index, const Operand& updates, GatherMode mode) {
  const AtLine line(x.loc());
  const Array a = x.as_array(), i = index.as_array();
  Shape rows = i.shape();
  if (!rows.empty()) rows.pop_back();
  return scatter(Op::scatter_add, a, i, fit_updates("scatter_add", updates, rows, a.dtype(), x.loc()), mode, x.loc());
}

Array take(const Operand& x, const Operand& index, int64_t axis, GatherMode mode) {
  const AtLine line(x.loc());
  const Array a = x.as_array(), i = index.as_array();
  axis = normalize_axis(axis, a.ndim(), "take", user_line(x.loc()));
  Array r = gather_axes(a, columns({i}, x.loc()), {axis}, mode, x.loc());
  // index axes come first: put them where the taken axis was.
  Ints p(r.shape().size());
  for (int64_t out = 0, n = i.ndim(); out < static_cast<int64_t>(p.size()); ++out)
    p[out] = out < axis ? n + out : out < axis + n ? out - axis : out;
  return transpose(r, p);
}

Array take_along_axis(const Operand& x, const Operand& index, int64_t axis, GatherMode mode) {
  const AtLine line(x.loc());
  const Array a = x.as_array(), i = index.as_array();
  axis = normalize_axis(axis, a.ndim(), "take_along_axis", user_line(x.loc()));
  if (i.ndim() != a.ndim())
    throw_user<ShapeError>("take_along_axis", "index " + to_string(i.aval()) + " for " + to_string(a.aval()),
                           "as many dimensions", "add axes with index[{slice(), newaxis}]", user_line(x.loc()));
  Shape shape = a.shape();
  shape[axis] = i.shape()[axis];
  for (int64_t d = 0; d < a.ndim(); ++d)
    if (d != axis && i.shape()[d] != shape[d]) {
      if (i.shape()[d] != 1 && shape[d] != 1)
        throw_user<ShapeError>("take_along_axis", "index " + to_string(i.aval()) + " for " + to_string(a.aval()),
                               "equal extents, or 1, besides the axis", "", user_line(x.loc()));
      shape[d] = std::max(shape[d], i.shape()[d]);
    }
  std::vector<Array> indices;
  for (int64_t d = 0; d < a.ndim(); ++d) {
    if (d == axis)
      indices.push_back(broadcast_to(i, shape));
    else
      indices.push_back(a.shape()[d] == 1 ? full(shape, 0, i.dtype()) : iota(shape, d, index_dtype(shape[d])));
  }
  return gather_axes(a, columns(indices, x.loc()), all_axes(a.ndim()), mode, x.loc());
}

Array one_hot(const Operand& index, int64_t classes, DType dtype) {
  const AtLine line(index.loc());
  // An index dtype that does not hold all classes would count them round and round.
  const DType holds = index_dtype(classes);
  const bool widens = !is_float(index.dtype()) && size_of(index.dtype()) < size_of(holds);
  const Array i = expand_dims(widens ? index.as(holds) : index.as_array(), -1);
  Shape shape = i.shape();
  shape.back() = classes;
  check_extents("one_hot", shape, dtype, user_line(index.loc()));
  return convert(broadcast_to(i, shape) == iota(shape, static_cast<int64_t>(shape.size()) - 1, i.dtype()), dtype);
}

// --- x[...]

IndexList::IndexList(std::initializer_list<Entry> entries, std::source_location loc) : loc_(loc) {
  for (const Entry& e : entries) entries_.push_back(e.index);
}

IndexList::IndexList(const std::vector<Entry>& entries, std::source_location loc) : loc_(loc) {
  for (const Entry& e : entries) entries_.push_back(e.index);
}

namespace {

bool is_array(const Index& i) { return std::holds_alternative<std::shared_ptr<detail::ArrayImpl>>(i); }

// Returns the list with the ellipsis written out, so that every axis of x has its entry.
std::vector<Index> expanded(const IndexList& list, const Array& x) {
  int64_t used = 0, ellipses = 0;
  for (const Index& i : list.entries()) {
    if (std::holds_alternative<Ellipsis>(i))
      ++ellipses;
    else if (!std::holds_alternative<NewAxis>(i))
      ++used;
  }
  if (ellipses > 1) throw_user<IndexError>("index", "more than one ellipsis", "one", "", list.loc());
  if (used > x.ndim())
    throw_user<IndexError>("index", std::to_string(used) + " indices for " + to_string(x.aval()),
                           "at most " + std::to_string(x.ndim()), "", list.loc());
  std::vector<Index> result;
  const auto fill = [&] { result.insert(result.end(), static_cast<size_t>(x.ndim() - used), Index(Slice{})); };
  for (const Index& i : list.entries()) {
    if (std::holds_alternative<Ellipsis>(i))
      fill();
    else
      result.push_back(i);
  }
  if (ellipses == 0) fill();
  return result;
}

struct Range {
  int64_t start, limit, stride;
  bool reversed;
};

// Applies Python's slice rules to an axis of n elements.
Range resolve(const Slice& s, int64_t n, std::source_location loc) {
  if (s.step == 0) throw_user<IndexError>("index", "a slice has step 0", "another step", "", user_line(loc));
  const auto bound = [&](std::optional<int64_t> b, int64_t missing, int64_t low, int64_t high) {
    if (!b) return missing;
    return std::clamp(*b < 0 ? *b + n : *b, low, high);
  };
  const int64_t longest = std::max<int64_t>(n, 1);
  const int64_t step = std::clamp(s.step, -longest, longest);  // longer ones take one element too
  if (step > 0) {
    const int64_t start = bound(s.start, 0, 0, n), stop = bound(s.stop, n, 0, n);
    return {start, std::max(start, stop), step, false};
  }
  const int64_t first = bound(s.start, n - 1, -1, n - 1), stop = bound(s.stop, -1, -1, n - 1);
  if (first <= stop) return {0, 0, 1, false};
  const int64_t count = (first - stop - 1) / -step + 1;
  return {first + (count - 1) * step, first + 1, -step, true};
}

// Window says what the slices and integers of an index take of x, along each axis.
struct Window {
  Shape start, limit, stride, reversed;
};

// Returns the window; `integers` says whether those count too, as slices of one element.
Window window_of(const std::vector<Index>& entries, const Array& x, bool integers, std::source_location loc) {
  Window w;
  for (int64_t axis = 0; const Index& entry : entries) {
    if (std::holds_alternative<NewAxis>(entry)) continue;
    const int64_t n = x.shape()[axis];
    Range r{0, n, 1, false};
    if (const auto* s = std::get_if<Slice>(&entry)) r = resolve(*s, n, loc);
    if (const auto* i = std::get_if<int64_t>(&entry)) {
      if (*i < -n || *i >= n)
        throw_user<IndexError>(
            "index", "index " + std::to_string(*i) + " of axis " + std::to_string(axis) + " of " + to_string(x.aval()),
            n == 0 ? "no index: the axis is empty" : "-" + std::to_string(n) + " to " + std::to_string(n - 1), "",
            user_line(loc));
      if (integers) r = {*i < 0 ? *i + n : *i, (*i < 0 ? *i + n : *i) + 1, 1, false};
    }
    w.start.push_back(r.start);
    w.limit.push_back(r.limit);
    w.stride.push_back(r.stride);
    if (r.reversed) w.reversed.push_back(axis);
    ++axis;
  }
  return w;
}

// Returns the shape of x[entries] without index arrays, where the window is of shape `window`.
Shape basic_shape(const std::vector<Index>& entries, const Shape& window) {
  Shape result;
  for (size_t axis = 0; const Index& entry : entries) {
    if (std::holds_alternative<NewAxis>(entry))
      result.push_back(1);
    else if (std::holds_alternative<int64_t>(entry))
      ++axis;
    else
      result.push_back(window[axis++]);
  }
  return result;
}

Array indexed(const Array& self, const IndexList& list, GatherMode mode) {
  const std::source_location loc = list.loc();
  const AtLine line(loc);
  const std::vector<Index> entries = expanded(list, self);
  const bool advanced = std::ranges::any_of(entries, is_array);

  // Slices first; integers become slices of one element, dropped below, or, beside index arrays, index arrays too.
  const auto [start, limit, stride, reversed] = window_of(entries, self, !advanced, loc);
  Array x = self;
  if (start != Shape(start.size(), 0) || limit != self.shape() || stride != Shape(start.size(), 1))
    x = strided_slice(x, start, limit, stride);
  if (!reversed.empty()) x = reverse(x, reversed);

  if (!advanced) {
    const Shape result = basic_shape(entries, x.shape());
    return x.shape() == result ? x : reshape(x, result);
  }

  std::vector<Array> indices;
  Ints gathered;
  int64_t first = -1, last = -1;
  for (int64_t axis = 0, position = 0; const Index& entry : entries) {
    if (is_array(entry) || std::holds_alternative<int64_t>(entry)) {
      if (is_array(entry))
        indices.emplace_back(std::get<std::shared_ptr<detail::ArrayImpl>>(entry));
      else
        indices.push_back(full({}, std::get<int64_t>(entry), index_dtype(self.shape()[axis]), loc));
      gathered.push_back(axis);
      if (first < 0) first = position;
      last = position;
    }
    if (!std::holds_alternative<NewAxis>(entry)) ++axis;
    ++position;
  }
  const bool side_by_side = last - first + 1 == static_cast<int64_t>(gathered.size());
  const Array index = columns(indices, loc);
  const int64_t n = index.ndim() - 1;
  const Array r = gather_axes(x, index, gathered, mode, loc);

  // Axes of r: n broadcast index axes, then what was sliced. Put the index axes at the first index array's place.
  Ints order;
  Shape extents;
  const auto put_index_axes = [&] {
    for (int64_t i = 0; i < n; ++i) {
      order.push_back(i);
      extents.push_back(r.shape()[i]);
    }
  };
  if (!side_by_side) put_index_axes();
  for (int64_t next = n, position = 0; const Index& entry : entries) {
    if (side_by_side && position == first) put_index_axes();
    if (std::holds_alternative<NewAxis>(entry)) extents.push_back(1);
    if (std::holds_alternative<Slice>(entry)) {
      extents.push_back(r.shape()[next]);
      order.push_back(next++);
    }
    ++position;
  }
  return reshape(transpose(r, order), extents);
}

}  // namespace

Array Array::operator[](const IndexList& list) const { return indexed(*this, list, GatherMode::clip); }

// --- x.at(...): positions in the flat array are found by indexing the flat array's own indices, which fuses away; but
// windows and whole rows have ops of their own.

IndexUpdate Array::at(const IndexList& index, GatherMode mode) const { return {*this, index, mode}; }

namespace {

Array positions(const Array& x, const IndexList& list) {
  const Array flat = reshape(iota({x.size()}, 0, DType::i64, list.loc()), x.shape());
  return indexed(flat, list, GatherMode::fill);  // out of range: the lowest integer, which a scatter drops
}

// The most elements of x for each of a window's that is written into it, or made anew with it, rather than scattered.
constexpr int64_t kLargeWindow = 4;

bool is_large(const Shape& window, const Shape& whole) {
  const int64_t elements = element_count(window);
  return elements > 0 && elements >= element_count(whole) / kLargeWindow;
}

// Arrays of so few elements are rather made anew: kernels of loops may then hold them in registers.
constexpr int64_t kFewElements = 256;

// Run at once, a window without steps is read, combined and written back, and where it starts is an operand: positions
// would be an array of 8 bytes for each element of x, and each place an executable of its own. A large window of a
// traced array is too, but starts where it is known to: kernels then write it and what lies around it apart.
Array update_window(Op op, const Array& x, const Shape& start, const Shape& window, const Array& y) {
  const auto known = [&] {
    std::vector<Array> each;
    for (const int64_t first : start) each.push_back(full({1}, first, DType::i64));
    return concatenate(each, 0);
  };
  const Array at = is_tracing() ? known() : array(start);
  const auto old = [&] {
    if (!is_tracing()) return window_at(x, at, window, user_line({}));
    Shape limit = start;
    for (size_t i = 0; i < limit.size(); ++i) limit[i] += window[i];
    return strided_slice(x, start, limit);
  };
  const Array changed = op == Op::scatter_add   ? old() + y
                        : op == Op::scatter_mul ? old() * y
                        : op == Op::scatter_min ? minimum(old(), y)
                        : op == Op::scatter_max ? maximum(old(), y)
                                                : y;
  return with_window_at(x, changed, at, user_line({}));
}

// A window, also one with steps, is updated by an array of x's shape, which fuses with what is around it.
Array update_everywhere(Op op, const Array& x, const Window& w, const Array& updates) {
  const Shape& shape = updates.shape();
  Shape high, between;
  for (size_t i = 0; i < shape.size(); ++i) {
    between.push_back(w.stride[i] - 1);
    high.push_back(x.shape()[i] - w.start[i] - (shape[i] - 1) * w.stride[i] - 1);
  }
  const auto spread = [&](const Array& a, const Operand& around) { return pad(a, w.start, high, around, between); };
  if (op == Op::scatter_add)
    return x + (is_float(x.dtype()) ? spread(updates, -0.0) : spread(updates, 0));  // x + -0 is x
  if (op == Op::scatter_mul) return x * spread(updates, 1);
  const Array inside = spread(full(shape, true), false), y = spread(updates, 0);
  const Array changed = op == Op::scatter_min ? minimum(x, y) : op == Op::scatter_max ? maximum(x, y) : y;
  return where(inside, changed, x);
}

// Returns the index arrays where they stand first and all of the other axes is meant: then whole rows are updated.
std::vector<Array> row_indices(const std::vector<Index>& entries) {
  std::vector<Array> indices;
  for (const Index& entry : entries) {
    if (is_array(entry)) {
      if (indices.size() != static_cast<size_t>(&entry - entries.data())) return {};
      indices.emplace_back(std::get<std::shared_ptr<detail::ArrayImpl>>(entry));
    } else {
      const auto* s = std::get_if<Slice>(&entry);
      if (!s || s->start || s->stop || s->step != 1) return {};
    }
  }
  return indices;
}

Array update(Op op, const Array& x, const IndexList& list, GatherMode mode, const Operand& y) {
  const std::source_location loc = list.loc();
  const AtLine line(loc);
  const std::vector<Index> entries = expanded(list, x);
  if (x.ndim() > 0 && (op == Op::scatter_set || x.dtype() != DType::bool_) && std::ranges::none_of(entries, is_array)) {
    const Window w = window_of(entries, x, true, loc);
    Shape window;
    for (size_t i = 0; i < w.start.size(); ++i) window.push_back(w.limit[i] - w.start[i]);
    const bool is_plain = w.reversed.empty() && std::ranges::all_of(w.stride, [](int64_t n) { return n == 1; });
    const auto fitted = [&](const Shape& of) {
      return reshape(fit_updates("at", y, basic_shape(entries, of), x.dtype(), loc), of);
    };
    // What combines with x is written into it only where kernels do that apart from the rest, in place.
    const bool is_wide = is_large(window, x.shape());
    if (is_plain &&
        (!is_tracing() || (is_wide && (op == Op::scatter_set || is_worth_writing_apart(x.shape(), window))))) {
      return update_window(op, x, w.start, window, fitted(window));
    }
    Shape steps;  // elements along each axis
    for (size_t i = 0; i < window.size(); ++i) steps.push_back(window[i] > 0 ? 1 + (window[i] - 1) / w.stride[i] : 0);
    if (is_tracing() && w.reversed.empty() && !is_complex(x.dtype()) && element_count(steps) > 0 &&
        (is_large(steps, x.shape()) || x.size() <= kFewElements)) {
      return update_everywhere(op, x, w, fitted(steps));
    }
  }
  if (const std::vector<Array> indices = row_indices(entries); !indices.empty()) {
    const Array index = columns(indices, loc);
    const auto indexed_axes = static_cast<int64_t>(indices.size());
    Shape place = index.shape();
    place.pop_back();
    place.insert(place.end(), x.shape().begin() + indexed_axes, x.shape().end());
    return scatter_axes(op, x, index, fit_updates("at", y, place, x.dtype(), loc), all_axes(indexed_axes),
                        GatherMode::fill, loc);  // which drops, as every mode of updates does
  }
  const Array where_to = positions(x, list);
  const Array updates = fit_updates("at", y, where_to.shape(), x.dtype(), loc);
  const Array flat = scatter(op, ravel(x), expand_dims(where_to, -1), updates, mode, loc);
  return reshape(flat, x.shape());
}

}  // namespace

Array IndexUpdate::set(const Operand& y) const { return update(Op::scatter_set, array_, index_, mode_, y); }
Array IndexUpdate::add(const Operand& y) const { return update(Op::scatter_add, array_, index_, mode_, y); }
Array IndexUpdate::mul(const Operand& y) const { return update(Op::scatter_mul, array_, index_, mode_, y); }
Array IndexUpdate::min(const Operand& y) const { return update(Op::scatter_min, array_, index_, mode_, y); }
Array IndexUpdate::max(const Operand& y) const { return update(Op::scatter_max, array_, index_, mode_, y); }

Array IndexUpdate::subtract(const Operand& y) const {
  const AtLine line(index_.loc());
  return add(-y);
}
Array IndexUpdate::divide(const Operand& y) const {
  const AtLine line(index_.loc());
  return array_ / IndexUpdate(ones(array_.shape(), to_float_dtype(array_.dtype())), index_, mode_).mul(y);
}
Array IndexUpdate::power(const Operand& y) const {
  const AtLine line(index_.loc());
  return neap::power(array_, IndexUpdate(ones_like(array_), index_, mode_).mul(y)).astype(array_.dtype());
}
Array IndexUpdate::apply(const std::function<Array(const Array&)>& f) const {
  const AtLine line(index_.loc());
  return set(f(array_[index_]));
}
Array IndexUpdate::get(GatherMode mode) const { return indexed(array_, index_, mode); }

}  // namespace neap
