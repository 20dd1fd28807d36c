// Images (neap/image.h), after jax.image: each axis is multiplied by a matrix of weights, of which few are not 0.
#include <neap/creation.h>
#include <neap/image.h>
#include <neap/numpy.h>
#include <neap/transforms.h>

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/size.h"
#include "trace/ops/ops_common.h"

namespace neap::image {

using namespace tracing;

namespace {

// A pixel made of more than so many is a product with a row of the whole matrix: each of them is an operation of the
// graph.
constexpr int64_t kMostTaps = 32;
// Weights whose sum is less count as none, as JAX has it.
constexpr double kLeastSum = 1000.0 * std::numeric_limits<float>::epsilon();

int radius_of(Method method) {
  switch (method) {
    case Method::cubic: return 2;
    case Method::lanczos3: return 3;
    case Method::lanczos5: return 5;
    default: return 1;
  }
}

// Returns the kernel at distances x >= 0 in pixels.
Array kernel(Method method, const Array& x) {
  if (method == Method::linear) return maximum(1 - x, 0);
  if (method == Method::cubic) {
    const Array near = ((1.5 * x - 2.5) * x) * x + 1, far = ((-0.5 * x + 2.5) * x - 4) * x + 2;
    return where(x >= 2, 0, where(x >= 1, far, near));
  }
  const double radius = radius_of(method);
  const Array angle = where(x > 1e-3, x, 1) * std::numbers::pi;
  const Array value = radius * sin(angle) * sin(angle / radius) / square(angle);
  return where(x > radius, 0, where(x > 1e-3, value, 1));
}

// --- resize

// Axis is one that is resized. With p the index of a pixel and i that of one made of it, the distance of their centres
// is ((2 i + 1) from - to - 2 to p) / (2 to) pixels of x, whose numerator integers hold exactly.
struct Axis {
  int64_t at, from, to;
  Method method;
  bool widens;

  DType dtype() const { return index_dtype((Size(4) * from * to + 2 * to * radius_of(method)).value()); }
  // How many pixels one is made of: those closer than the kernel reaches.
  int64_t taps() const {
    const int64_t reach = 2 * radius_of(method) * (widens ? from : to);
    return std::min(from, (reach + to - 1) / to);
  }
  // Returns numerators without the pixel's part, for i [to].
  Array centre() const { return (2 * iota({to}, 0, dtype()) + 1) * from - to; }
  // Returns the first of those pixels.
  Array first() const {
    const Array begin = floor_divide(centre() - 2 * radius_of(method) * (widens ? from : to), 2 * to) + 1;
    return clip(begin, 0, from - taps());
  }
  // Returns what each of them weighs: [to, taps].
  Array weights(const Array& first, DType weight) const {
    const Shape shape{to, taps()};
    const Array pixel = expand_dims(first, -1) + iota(shape, 1, dtype());
    const double unit = 2 * static_cast<double>(widens ? from : to);
    const Array each = kernel(method, abs(expand_dims(centre(), -1) - 2 * to * pixel).astype(weight) / unit);
    const Array total = sum(each, 1, true), counts = abs(total) > kLeastSum;
    return where(counts, each / where(counts, total, 1), 0);
  }
};

// Returns numbers along one axis of `ndim`.
Array along(const Array& numbers, int64_t axis, int64_t ndim) {
  Shape shape(static_cast<size_t>(ndim), 1);
  shape[axis] = numbers.size();
  return reshape(numbers, shape);
}

// Multiplies an axis by a matrix [from, to].
Array multiply_axis(const Array& x, const Array& matrix, int64_t axis) {
  return moveaxis(dot_general(x, matrix.astype(x.dtype()), {axis}, {0}), -1, axis);
}

Array by_matrix(const Array& x, const Axis& axis) {
  const Array first = axis.first(), weights = axis.weights(first, real_dtype(x.dtype()));
  const Shape shape{axis.from, axis.to};
  const Array row = iota(shape, 0, axis.dtype());
  Array matrix = zeros(shape, weights.dtype());
  for (int64_t tap = 0; tap < axis.taps(); ++tap)
    matrix = where(row == first + tap, broadcast_to(weights[{slice(), tap}], shape), matrix);
  return multiply_axis(x, matrix, axis.at);
}

Array by_taps(const Array& x, const Axis& axis) {
  const Array first = axis.first(), weights = axis.weights(first, real_dtype(x.dtype()));
  Array result;
  for (int64_t tap = 0; tap < axis.taps(); ++tap) {
    const Array term = take(x, first + tap, axis.at) * along(weights[{slice(), tap}], axis.at, x.ndim());
    result = tap == 0 ? term : result + term;
  }
  return result;
}

// The derivative is that of the product with the whole matrix: a sum of gathers would have scatters.
Array resize_axis(const Array& x, const Axis& axis) {
  if (axis.taps() > kMostTaps) return by_matrix(x, axis);
  return custom_jvp([=](const Array& a) { return by_taps(a, axis); },
                    [=](const Array&, const Array& dx) { return by_matrix(dx, axis); }, user_line({}))(x);
}

Array nearest(const Array& x, int64_t axis, int64_t to) {
  const int64_t from = x.shape(axis);
  if (to % from == 0) return repeat(x, to / from, axis);
  if (from % to == 0) {
    const int64_t step = from / to;
    Shape start(x.shape().size(), 0), limit = x.shape(), stride(x.shape().size(), 1);
    start[axis] = step / 2, stride[axis] = step;
    return strided_slice(x, start, limit, stride);
  }
  const Array i = iota({to}, 0, index_dtype((Size(4) * from * to).value()));
  return take(x, floor_divide((2 * i + 1) * from, 2 * to), axis);
}

Array float_image(const Operand& x) { return x.as(to_float_dtype(x.dtype())); }

void check_axes(std::string_view op, const Operand& x, const Shape& shape) {
  if (x.shape().size() != shape.size())
    throw_user<ShapeError>(op, fmt::format("shape {} for {}", to_string(shape), to_string(x.as_array().aval())),
                           "as many axes", "", user_line(x.loc()));
  check_extents(op, shape, DType::c128, user_line(x.loc()));
  for (size_t i = 0; i < shape.size(); ++i)
    if (x.shape()[i] == 0 && shape[i] != 0)
      throw_user<ShapeError>(op, fmt::format("{} of {}", to_string(shape), to_string(x.as_array().aval())),
                             "no elements along an axis without them", "", user_line(x.loc()));
}

}  // namespace

Array resize(const Operand& x, const Shape& shape, Method method, bool antialias) {
  const AtLine line(x.loc());
  check_axes("resize", x, shape);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < std::ssize(shape); ++i) {
    if (x.shape()[i] == shape[i]) continue;
    axes.push_back(i);
    const Size longest = std::max(x.shape()[i], shape[i]);  // numerators are at most 16 times its square
    static_cast<void>((16 * longest * longest).value("resize", fmt::format("axis {}", i), user_line(x.loc())));
  }
  // Those first that leave least to do for the others.
  std::ranges::sort(axes, {}, [&](int64_t i) {
    return std::pair(static_cast<double>(shape[i]) / static_cast<double>(std::max<int64_t>(x.shape()[i], 1)), i);
  });
  if (element_count(shape) == 0) return zeros(shape, method == Method::nearest ? x.dtype() : to_float_dtype(x.dtype()));
  if (method == Method::nearest) {
    Array result = x.as_array();
    for (const int64_t axis : axes) result = nearest(result, axis, shape[axis]);
    return result;
  }
  const Array a = float_image(x);
  if (axes.empty()) return a;
  const DType computed = wide(a.dtype());
  return composite(fmt::format("resize {} {} {}", to_string(shape), static_cast<int>(method), antialias), {a},
                   [&](const Arrays& in) {
                     Array result = in[0].astype(computed);
                     for (const int64_t axis : axes) {
                       const int64_t from = result.shape(axis), to = shape[axis];
                       result = resize_axis(result, {axis, from, to, method, antialias && from > to});
                     }
                     return result.astype(in[0].dtype());
                   });
}

// --- scale_and_translate

namespace {

// Returns the matrix [from, to] of an axis.
Array matrix_of(Method method, int64_t from, int64_t to, const Array& scale, const Array& translation, bool antialias) {
  const DType dtype = scale.dtype();
  const Array inverse = 1 / scale, widened = antialias ? maximum(inverse, 1) : ones_like(inverse);
  const Array at = (iota({1, to}, 1, dtype) + 0.5) * inverse - translation * inverse - 0.5;
  const Array weights = kernel(method, abs(at - iota({from, 1}, 0, dtype)) / widened);
  const Array total = sum(weights, 0, true), counts = abs(total) > kLeastSum;
  const Array inside = (at >= -0.5) & (at <= static_cast<double>(from) - 0.5);
  return where(inside & counts, weights / where(counts, total, 1), 0);
}

}  // namespace

Array scale_and_translate(const Operand& x, const Shape& shape, const Shape& spatial_dims, const Operand& scale,
                          const Operand& translation, Method method, bool antialias) {
  const AtLine line(x.loc());
  check_axes("scale_and_translate", x, shape);
  if (method == Method::nearest)
    throw_user<OptionError>("scale_and_translate", "Method::nearest", "a kernel", "resize() takes it",
                            user_line(x.loc()));
  const Shape axes = normalize_axes(spatial_dims, std::ssize(shape), "scale_and_translate", user_line(x.loc()));
  const auto count = std::ssize(axes);
  const DType computed = wide(to_float_dtype(x.dtype())), weight = real_dtype(computed);
  const auto numbers = [&](const Operand& of, std::string_view what) {
    if (broadcast_shapes(of.shape(), Shape{count}) != Shape{count})
      throw_user<ShapeError>("scale_and_translate", fmt::format("{} {}", what, to_string(of.as_array().aval())),
                             fmt::format("one for each of {} axes", count), "", user_line(x.loc()));
    return broadcast_to(of.as(weight), {count});
  };
  for (int64_t i = 0; i < std::ssize(shape); ++i)
    if (std::ranges::find(axes, i) == axes.end() && shape[i] != x.shape()[i])
      throw_user<ShapeError>("scale_and_translate", fmt::format("axis {} of {} in {}", i, shape[i], to_string(shape)),
                             fmt::format("{}, as it is none of spatial_dims", x.shape()[i]), "", user_line(x.loc()));
  const Arrays inputs{float_image(x), numbers(scale, "scale"), numbers(translation, "translation")};
  const std::string key = fmt::format("scale_and_translate {} {} {} {}", to_string(shape), to_string(axes),
                                      static_cast<int>(method), antialias);
  return composite(key, inputs, [&](const Arrays& in) {
    Array result = in[0].astype(computed);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t axis = axes[i];
      const Array matrix = matrix_of(method, result.shape(axis), shape[axis], in[1][i], in[2][i], antialias);
      result = multiply_axis(result, matrix, axis);
    }
    return result.astype(in[0].dtype());
  });
}

}  // namespace neap::image
