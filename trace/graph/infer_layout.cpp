// Inference for the ops that move elements.
#include <algorithm>

#include "core/size.h"
#include "trace/graph/infer_rules.h"

namespace neap::tracing {
namespace {

Shape broadcast_shape(const Site& site) {
  const Aval& x = site.in[0];
  const Shape& shape = site.check_shape(site.attrs.ints(Attr::shape));
  const Ints& axes = site.attrs.ints(Attr::axes);
  site.check_length(axes, x.ndim(), Attr::axes);
  site.check_axes(axes, static_cast<int64_t>(shape.size()), /*ascending=*/true);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (x.shape[i] == 1 || x.shape[i] == shape[axes[i]]) continue;
    site.fail<ShapeError>(fmt::format("{} to {}: axis {} has {} elements, the target {}", to_string(x),
                                      to_string(shape), i, x.shape[i], shape[axes[i]]),
                          "equal extents, or 1");
  }
  return shape;
}

Shape reshape_shape(const Site& site) {
  const Shape& shape = site.check_shape(site.attrs.ints(Attr::shape));
  if (element_count(shape) != site.in[0].size()) {
    site.fail<ShapeError>(fmt::format("{} ({} elements) to {} ({})", to_string(site.in[0]), site.in[0].size(),
                                      to_string(shape), element_count(shape)),
                          "as many elements");
  }
  return shape;
}

Shape transpose_shape(const Site& site) {
  const Aval& x = site.in[0];
  const Ints& permutation = site.attrs.ints(Attr::permutation);
  site.check_length(permutation, x.ndim(), Attr::permutation);
  site.check_axes(permutation, x.ndim(), /*ascending=*/false);
  Shape shape;
  for (const int64_t axis : permutation) shape.push_back(x.shape[axis]);
  return shape;
}

Shape slice_shape(const Site& site) {
  const Aval& x = site.in[0];
  const Ints& start = site.attrs.ints(Attr::start);
  const Ints& limit = site.attrs.ints(Attr::limit);
  const Ints& stride = site.attrs.ints(Attr::stride);
  site.check_length(start, x.ndim(), Attr::start);
  site.check_length(limit, x.ndim(), Attr::limit);
  site.check_length(stride, x.ndim(), Attr::stride);
  Shape shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (stride[i] < 1) {
      site.fail<IndexError>(fmt::format("stride {} on axis {}", stride[i], i), "1 or more",
                            "reverse the array for a negative step");
    }
    if (start[i] < 0 || start[i] > limit[i] || limit[i] > x.shape[i]) {
      site.fail<IndexError>(fmt::format("[{}, {}) of axis {} of {}", start[i], limit[i], i, to_string(x)),
                            fmt::format("0 <= start <= limit <= {}", x.shape[i]));
    }
    shape.push_back(limit[i] == start[i] ? 0 : (limit[i] - start[i] - 1) / stride[i] + 1);
  }
  return shape;
}

Shape pad_shape(const Site& site) {
  const Aval& x = site.in[0];
  const Ints& low = site.attrs.ints(Attr::low);
  const Ints& high = site.attrs.ints(Attr::high);
  const Ints& interior = site.attrs.ints(Attr::interior);
  if (site.in[1].ndim() != 0) {
    site.fail<ShapeError>(fmt::format("the padding value is {}", to_string(site.in[1])), "a scalar");
  }
  site.check_same_dtype();
  site.check_length(low, x.ndim(), Attr::low);
  site.check_length(high, x.ndim(), Attr::high);
  site.check_length(interior, x.ndim(), Attr::interior);
  Shape shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (interior[i] < 0) {
      site.fail<ShapeError>(fmt::format("interior padding {} on axis {}", interior[i], i), "0 or more");
    }
    // Padding is bounded so that a position less a padding is an int64 too.
    constexpr int64_t kMost = int64_t{1} << 62;
    const bool far = std::min(low[i], high[i]) <= -kMost || std::max({low[i], high[i], interior[i]}) >= kMost;
    const Size inner = Size(std::max<int64_t>(x.shape[i] - 1, 0)) * interior[i] + x.shape[i];
    const Size extent = far ? inner : inner + (low[i] + high[i]);
    if (far || !extent.fits() || extent.value() < 0) {
      site.fail<ShapeError>(fmt::format("low {}, high {} and interior {} on axis {} of {}", low[i], high[i],
                                        interior[i], i, to_string(x)),
                            !far && extent.fits() ? "to cut at most the extent" : "fewer than 2^62 elements");
    }
    shape.push_back(extent.value());
  }
  return site.check_shape(shape);
}

Shape concatenate_shape(const Site& site) {
  if (site.in.empty()) site.fail<ShapeError>("no operands", "at least one");
  const int64_t axis = site.attrs.integer(Attr::axis);
  site.check_axis(axis, site.in[0].ndim());
  site.check_same_dtype();
  Shape shape = site.in[0].shape;
  for (size_t i = 1; i < site.in.size(); ++i) {
    Shape other = site.in[i].shape;
    if (other.size() == shape.size()) {
      shape[axis] = (Size(shape[axis]) + other[axis]).value(name(site.op), fmt::format("axis {}", axis), site.loc);
      other[axis] = shape[axis];
    }
    if (other != shape) {
      site.fail<ShapeError>(fmt::format("{} and {} along axis {}", to_string(site.in[0]), to_string(site.in[i]), axis),
                            "shapes that differ in that axis only");
    }
  }
  return site.check_shape(shape);
}

void check_start(const Site& site, const Aval& start, std::span<const int64_t> window) {
  const Aval& x = site.in[0];
  if (start != Aval{{x.ndim()}, DType::i64}) {
    const std::string got = fmt::format("the start is {}", to_string(start));
    const std::string expected = fmt::format("i64[{}], one entry for each dimension of {}", x.ndim(), to_string(x));
    if (start.dtype != DType::i64) site.fail<DTypeError>(got, expected);
    site.fail<ShapeError>(got, expected);
  }
  const bool fits = static_cast<int64_t>(window.size()) == x.ndim() &&
                    std::ranges::equal(window, x.shape, [](int64_t w, int64_t n) { return w <= n; });
  if (fits) return;
  site.fail<ShapeError>(
      fmt::format("a window of shape {} of {}", to_string(Shape(window.begin(), window.end())), to_string(x)),
      "as many dimensions, and no extent larger");
}

}  // namespace

Aval infer_layout(const Site& site) {
  const Aval& x = site.in.empty() ? Aval{} : site.in[0];
  switch (site.op) {
    case Op::broadcast_in_dim: return {broadcast_shape(site), x.dtype};
    case Op::reshape: return {reshape_shape(site), x.dtype};
    case Op::transpose: return {transpose_shape(site), x.dtype};
    case Op::slice: return {slice_shape(site), x.dtype};
    case Op::pad: return {pad_shape(site), x.dtype};
    case Op::concatenate: return {concatenate_shape(site), x.dtype};
    case Op::reverse: site.check_axes(site.attrs.ints(Attr::axes), x.ndim(), /*ascending=*/false); return x;
    case Op::dynamic_slice: {
      const Shape& shape = site.check_shape(site.attrs.ints(Attr::shape));
      check_start(site, site.in[1], shape);
      return {shape, x.dtype};
    }
    case Op::dynamic_update_slice:
      if (site.in[1].dtype != x.dtype) {
        site.fail<DTypeError>(fmt::format("{} updated by {}", to_string(x), to_string(site.in[1])), "equal dtypes");
      }
      check_start(site, site.in[2], site.in[1].shape);
      return x;
    default: break;
  }
  throw InternalError(fmt::format("{}: no layout rule", name(site.op)));
}

}  // namespace neap::tracing
