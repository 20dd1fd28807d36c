// Functions that move elements.
#include <neap/creation.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/size.h"
#include "trace/graph/infer.h"
#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

Array broadcast_in_dim(const Operand& x, const Shape& shape, const Shape& axes) {
  return apply(Op::broadcast_in_dim, {x.as_array()}, {{Attr::shape, shape}, {Attr::axes, axes}}, x.loc());
}

Array broadcast_to(const Operand& x, const Shape& shape) {
  const Array a = x.as_array();
  if (a.shape() == shape) return a;
  check_extents("broadcast_to", shape, a.dtype(), user_line(x.loc()));
  if (broadcast_shapes(a.shape(), shape) != shape)
    throw_user<ShapeError>("broadcast_to", to_string(a.aval()) + " does not broadcast to " + to_string(shape),
                           "axes, aligned at the last, that are equal or 1", "", user_line(x.loc()));
  Shape axes(a.shape().size());
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(shape.size() - axes.size()));
  return broadcast_in_dim(Operand(a, x.loc()), shape, axes);
}

Array reshape(const Operand& x, Shape shape) {
  const Array a = x.as_array();
  const auto unknown = std::ranges::find(shape, -1);
  if (unknown != shape.end()) {
    const std::string asked = to_string(shape);
    *unknown = 1;
    if (std::ranges::any_of(shape, [](int64_t n) { return n < 0; }))
      throw_user<ShapeError>("reshape", "shape " + asked, "one extent of -1, others of 0 or more", "",
                             user_line(x.loc()));
    check_extents("reshape", shape, DType::u8, user_line(x.loc()));
    const int64_t rest = element_count(shape);
    if (rest == 0 || a.size() % rest != 0)
      throw_user<ShapeError>(
          "reshape", to_string(a.aval()) + " has " + std::to_string(a.size()) + " elements, the shape is " + asked,
          rest == 0 ? "another extent than -1 beside 0" : "a multiple of " + std::to_string(rest), "",
          user_line(x.loc()));
    *unknown = a.size() / rest;
  }
  if (a.shape() == shape) return a;
  return apply(Op::reshape, {a}, {{Attr::shape, shape}}, x.loc());
}

Array ravel(const Operand& x) { return reshape(x, {-1}); }

Array transpose(const Operand& x, std::optional<Shape> permutation) {
  const Array a = x.as_array();
  Shape p;
  if (permutation) {
    p = normalize_axes(*permutation, a.ndim(), "transpose", user_line(x.loc()));
  } else {
    p.resize(a.shape().size());
    std::iota(p.rbegin(), p.rend(), 0);
  }
  if (std::ranges::is_sorted(p) && static_cast<int64_t>(p.size()) == a.ndim()) return a;
  return apply(Op::transpose, {a}, {{Attr::permutation, p}}, x.loc());
}

Array swapaxes(const Operand& x, int64_t a, int64_t b) {
  const int64_t ndim = static_cast<int64_t>(x.shape().size());
  Shape p(ndim);
  std::iota(p.begin(), p.end(), 0);
  std::swap(p[normalize_axis(a, ndim, "swapaxes", user_line(x.loc()))],
            p[normalize_axis(b, ndim, "swapaxes", user_line(x.loc()))]);
  return transpose(x, p);
}

Array moveaxis(const Operand& x, int64_t from, int64_t to) {
  const int64_t ndim = static_cast<int64_t>(x.shape().size());
  from = normalize_axis(from, ndim, "moveaxis", user_line(x.loc()));
  to = normalize_axis(to, ndim, "moveaxis", user_line(x.loc()));
  Shape p(ndim);
  std::iota(p.begin(), p.end(), 0);
  p.erase(p.begin() + from);
  p.insert(p.begin() + to, from);
  return transpose(x, p);
}

Array expand_dims(const Operand& x, int64_t axis) {
  Shape shape = x.shape();
  axis = normalize_axis(axis, static_cast<int64_t>(shape.size()) + 1, "expand_dims", user_line(x.loc()));
  shape.insert(shape.begin() + axis, 1);
  return reshape(x, shape);
}

Array squeeze(const Operand& x, std::optional<int64_t> axis) {
  Shape shape = x.shape();
  if (!axis) {
    std::erase(shape, 1);
    return reshape(x, shape);
  }
  const int64_t a = normalize_axis(*axis, static_cast<int64_t>(shape.size()), "squeeze", user_line(x.loc()));
  if (shape[a] != 1)
    throw_user<ShapeError>(
        "squeeze",
        "axis " + std::to_string(a) + " of " + to_string(shape) + " has " + std::to_string(shape[a]) + " elements", "1",
        "", user_line(x.loc()));
  shape.erase(shape.begin() + a);
  return reshape(x, shape);
}

Array reverse(const Operand& x, const Shape& axes) {
  return apply(
      Op::reverse, {x.as_array()},
      {{Attr::axes, normalize_axes(axes, static_cast<int64_t>(x.shape().size()), "reverse", user_line(x.loc()))}},
      x.loc());
}

Array flip(const Operand& x, std::optional<int64_t> axis) {
  Shape axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  return reverse(x, axis ? Shape{normalize_axis(*axis, std::ssize(axes), "flip", user_line(x.loc()))} : axes);
}

Array strided_slice(const Operand& x, const Shape& start, const Shape& limit, std::optional<Shape> stride) {
  const Array a = x.as_array();
  const Attrs attrs{
      {Attr::start, start}, {Attr::limit, limit}, {Attr::stride, stride.value_or(Shape(start.size(), 1))}};
  if (is_tracing() || start.empty() || std::ranges::any_of(attrs.ints(Attr::stride), [](int64_t n) { return n != 1; }))
    return apply(Op::slice, {a}, attrs, x.loc());
  // Run at once, where to start is an operand: x[0], x[1], ... share one executable.
  const Shape window = infer(Op::slice, std::array{a.aval()}, attrs, user_line(x.loc()))[0].shape;
  return window_at(a, array(start), window, x.loc());
}

Array slice_in_dim(const Operand& x, int64_t start, int64_t limit, int64_t axis) {
  Shape limits = x.shape();
  Shape starts(limits.size(), 0);
  axis = normalize_axis(axis, static_cast<int64_t>(limits.size()), "slice_in_dim", user_line(x.loc()));
  const int64_t n = limits[axis];
  starts[axis] = start < 0 ? start + n : start;
  limits[axis] = limit < 0 ? limit + n : limit;
  return strided_slice(x, starts, limits);
}

Array pad(const Operand& x, const Shape& low, const Shape& high, const Operand& value, std::optional<Shape> interior) {
  const Array a = x.as_array();
  Shape between = interior.value_or(Shape(low.size(), 0));
  for (size_t i = 0; i < std::min(between.size(), a.shape().size()); ++i)
    if (a.shape()[i] < 2 && between[i] > 0) between[i] = 0;  // there is nothing between
  return apply(Op::pad, {a, value.as(x.dtype())}, {{Attr::low, low}, {Attr::high, high}, {Attr::interior, between}},
               x.loc());
}

namespace tracing {

Arrays promoted(const Arrays& arrays, std::source_location loc) {
  if (arrays.empty()) return {};
  DType dtype = arrays[0].dtype();
  for (const Array& a : arrays) dtype = promote(dtype, a.dtype());
  Arrays result;
  for (const Array& a : arrays) result.push_back(Operand(a, loc).as(dtype));
  return result;
}

}  // namespace tracing

Array concatenate(const std::vector<Array>& arrays, int64_t axis, std::source_location loc) {
  const AtLine line(loc);
  if (arrays.empty()) throw_user<ShapeError>("concatenate", "no arrays", "one or more", "", user_line(loc));
  const Arrays inputs = promoted(arrays, loc);
  axis = normalize_axis(axis, arrays[0].ndim(), "concatenate", user_line(loc));
  if (inputs.size() == 1) return inputs[0];
  return apply(Op::concatenate, inputs, {{Attr::axis, axis}}, loc);
}

Array stack(const std::vector<Array>& arrays, int64_t axis, std::source_location loc) {
  const AtLine line(loc);
  if (arrays.empty()) throw_user<ShapeError>("stack", "no arrays", "one or more", "", user_line(loc));
  const int64_t at = normalize_axis(axis, arrays[0].ndim(loc) + 1, "stack", user_line(loc));
  std::vector<Array> expanded;
  for (const Array& a : arrays) {
    if (a.shape(loc) != arrays[0].shape())
      throw_user<ShapeError>("stack", to_string(arrays[0].aval()) + " and " + to_string(a.aval()), "equal shapes", "",
                             user_line(loc));
    expanded.push_back(expand_dims(Operand(a, loc), at));
  }
  return concatenate(expanded, at, loc);
}

void tracing::check_parts(std::string_view op, int64_t parts, std::source_location loc) {
  // Parts that one call may return: each is an array with a node and a handle of its own, so more would exhaust memory
  // by mistake (as a size given for a number of parts).
  constexpr int64_t kMost = int64_t{1} << 20;
  if (parts >= 1 && parts <= kMost) return;
  throw_user<ShapeError>(op, std::to_string(parts) + " parts", "1 to " + std::to_string(kMost),
                         "each part is an array: keep them as one, with an axis for the parts", loc);
}

std::vector<Array> split(const Operand& x, int64_t parts, int64_t axis) {
  const AtLine line(x.loc());
  axis = normalize_axis(axis, static_cast<int64_t>(x.shape().size()), "split", user_line(x.loc()));
  const int64_t n = x.shape()[axis];
  check_parts("split", parts, user_line(x.loc()));
  if (n % parts != 0)
    throw_user<ShapeError>("split", std::to_string(parts) + " parts of " + std::to_string(n) + " elements",
                           "equal parts", "array_split() makes parts that are nearly equal", user_line(x.loc()));
  std::vector<Array> result;
  for (int64_t i = 0; i < parts; ++i) result.push_back(slice_in_dim(x, i * (n / parts), (i + 1) * (n / parts), axis));
  return result;
}

Array tile(const Operand& x, const Shape& repeats) {
  const AtLine line(x.loc());
  Shape reps = repeats, shape = x.shape();
  while (reps.size() < shape.size()) reps.insert(reps.begin(), 1);
  while (shape.size() < reps.size()) shape.insert(shape.begin(), 1);
  Shape wide, axes, result;
  for (size_t i = 0; i < shape.size(); ++i) {
    wide.push_back(reps[i]);
    axes.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(shape[i]);
    result.push_back((Size(reps[i]) * shape[i]).value("tile", "an extent", user_line(x.loc())));
  }
  check_extents("tile", result, x.dtype(), user_line(x.loc()));
  check_extents("tile", wide, x.dtype(), user_line(x.loc()));
  return reshape(broadcast_in_dim(Operand(reshape(x, shape), x.loc()), wide, axes), result);
}

namespace tracing {

Array window_at(const Array& x, const Array& start, const Shape& shape, std::source_location loc) {
  return apply(Op::dynamic_slice, {x, start}, {{Attr::shape, shape}}, loc);
}
Array with_window_at(const Array& x, const Array& update, const Array& start, std::source_location loc) {
  return apply(Op::dynamic_update_slice, {x, update, start}, {}, loc);
}

}  // namespace tracing

namespace {

// Returns `whole` for each axis; 0 where the window is as long as the axis, so that it starts at 0 whatever is asked
// for.
Shape lengths_that_count(const Shape& whole, const Shape& window) {
  Shape result = whole;
  for (size_t i = 0; i < window.size(); ++i)
    if (window[i] == whole[i]) result[i] = 0;
  return result;
}

// Returns these numbers as i64[rank], in operations that fuse: an array of them would be an argument of the compiled
// program.
Array numbers(const Shape& each) {
  const int64_t rank = std::ssize(each);
  const auto some = std::ranges::find_if(each, [](int64_t n) { return n != 0; });
  Array result = full({rank}, *some, DType::i64);
  for (int64_t i = 0; i < rank; ++i)
    if (each[i] != 0 && each[i] != *some) result = select(iota({rank}, 0, DType::i64) == i, each[i], result);
  return result;
}

// Returns the start of a window in whole, as i64; negative entries count from the end.
Array start_of(std::string_view op, const Operand& start, const Shape& whole, const Shape& window) {
  const DType dtype = start.dtype();
  if (!is_integer(dtype))
    throw_user<DTypeError>(op, "the start is " + to_string(Aval{start.shape(), dtype}), "integers",
                           "convert it, for example with astype(i32)", user_line(start.loc()));
  if (start.shape() != Shape{std::ssize(whole)})
    throw_user<ShapeError>(op, "the start is " + to_string(Aval{start.shape(), dtype}),
                           "[" + std::to_string(whole.size()) + "], one entry for each dimension", "",
                           user_line(start.loc()));
  if (window.size() != whole.size()) return start.as(DType::i64);
  if (dtype == DType::u64) return minimum(start, std::numeric_limits<int64_t>::max()).astype(DType::i64);
  const Array first = start.as(DType::i64);
  const Shape lengths = lengths_that_count(whole, window);
  if (is_unsigned(dtype) || std::ranges::all_of(lengths, [](int64_t n) { return n == 0; })) return first;
  // What is known costs nothing when it is run; but a call does not wait for a device.
  if (start.array().is_concrete() && (is_tracing() || !start.array().impl()->data->residence())) {
    Shape known = start.array().to_vector<int64_t>();
    if (std::ranges::none_of(known, [](int64_t n) { return n < 0; })) return first;
    for (size_t i = 0; i < known.size(); ++i)
      if (known[i] < 0) known[i] = std::max<int64_t>(0, known[i] + lengths[i]);
    return array(known);
  }
  return composite("start of a window " + to_string(lengths), {first},
                   [&](const Arrays& in) { return select(in[0] < 0, in[0] + numbers(lengths), in[0]); });
}

}  // namespace

Array dynamic_slice(const Operand& x, const Operand& start, const Shape& shape) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  return window_at(a, start_of("dynamic_slice", start, a.shape(), shape), shape, x.loc());
}

Array dynamic_update_slice(const Operand& x, const Operand& update, const Operand& start) {
  const AtLine line(x.loc());
  const Array a = x.as_array(), y = update.as(x.dtype());
  return with_window_at(a, y, start_of("dynamic_update_slice", start, a.shape(), y.shape()), x.loc());
}

}  // namespace neap
