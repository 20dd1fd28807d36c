// Fourier transforms (neap/fft.h), after jax.numpy.fft: one op, and what is cut, filled, scaled and joined around it.
#include <neap/creation.h>
#include <neap/fft.h>
#include <neap/numpy.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/size.h"
#include "trace/ops/ops_common.h"

namespace neap::fft {

using namespace tracing;

namespace {

double scale_of(Norm norm, int64_t n, bool inverse) {
  const auto length = static_cast<double>(n);
  if (norm == Norm::ortho) return 1 / std::sqrt(length);
  return (norm == Norm::backward) == inverse ? 1 / length : 1;
}

// Returns the axis cut or filled with zeros to n elements.
Array resized(const Array& x, int64_t axis, int64_t n) {
  const int64_t length = x.shape(axis);
  if (length == n) return x;
  Shape low(x.shape().size(), 0), high = low;
  high[axis] = n - length;
  return pad(x, low, high, 0);
}

Array transform(const Array& x, int64_t axis, bool inverse) {
  return apply(Op::fft, {x}, {{Attr::axis, axis}, {Attr::reverse, int64_t{inverse}}}, user_line({}));
}

Array scaled(const Array& x, double scale) { return scale == 1 ? x : x * scale; }

enum class Kind : uint8_t { complex, to_half, from_half };  // fft; rfft; irfft

// Transforms one axis of real or complex numbers; the axis has n elements where it is not half.
Array along(const Array& x, int64_t axis, int64_t n, Kind kind, Norm norm, bool inverse) {
  const double scale = scale_of(norm, n, inverse);
  if (kind == Kind::from_half) {
    // The other half would be this one's conjugate: of both together, twice the real part of this one is left.
    const Array half = resized(x, axis, n / 2 + 1);
    const Array k = neap::iota(half.shape(), axis, n < int64_t{1} << 30 ? i32 : i64);
    const Array single = (k == 0) | (2 * k == n), re = real(half), im = imag(half);
    const Array z = complex(select(single, re, re + re), select(single, 0, im + im));
    return scaled(real(transform(resized(z, axis, n), axis, inverse)), scale);
  }
  const Array y = transform(resized(x, axis, n).astype(complex_dtype(x.dtype())), axis, inverse);
  const Array z = scale == 1 ? y : complex(real(y) * scale, imag(y) * scale);
  return kind == Kind::complex ? z : slice_in_dim(z, 0, n / 2 + 1, axis);
}

struct Plan {
  std::string_view op;
  Kind kind = Kind::complex;
  bool inverse = false;
};

void refuse_complex(const Operand& x, const Plan& plan) {
  if (plan.kind == Kind::to_half && is_complex(x.dtype()))
    throw_user<DTypeError>(plan.op, to_string(Aval{x.shape(), x.dtype()}), "a real dtype",
                           "fft takes complex numbers, real() their real parts", user_line(x.loc()));
}

int64_t length_of(const Operand& x, const Plan& plan, int64_t axis, std::optional<int64_t> given, bool last) {
  const int64_t length = x.shape()[static_cast<size_t>(axis)];
  const bool doubles = plan.kind == Kind::from_half && last && !given;
  const int64_t n =
      doubles ? (Size(2) * (length - 1)).value(plan.op, "the length", user_line(x.loc())) : given.value_or(length);
  if (n >= 1) return n;
  throw_user<ShapeError>(plan.op, fmt::format("{} elements along axis {} of {}", n, axis, to_string(x.shape())),
                         "1 or more", "", user_line(x.loc()));
}

// Transforms along the axes, the last one first where it makes numbers complex, and last where it makes them real.
Array run(const Operand& x, const Plan& plan, const Shape& axes, const std::optional<Shape>& lengths, Norm norm) {
  refuse_complex(x, plan);
  if (lengths && lengths->size() != axes.size())
    throw_user<ShapeError>(plan.op, fmt::format("shape {} for axes {}", to_string(*lengths), to_string(axes)),
                           "a length for each axis", "", user_line(x.loc()));
  Shape n;
  for (size_t i = 0; i < axes.size(); ++i)
    n.push_back(
        length_of(x, plan, axes[i], lengths ? std::optional((*lengths)[i]) : std::nullopt, i + 1 == axes.size()));
  Shape whole = x.shape();
  for (size_t i = 0; i < axes.size(); ++i) whole[static_cast<size_t>(axes[i])] = n[i];
  check_extents(plan.op, whole, complex_dtype(x.dtype()), user_line(x.loc()));
  const std::string key = fmt::format("{} {} {} {}", plan.op, to_string(axes), to_string(n), static_cast<int>(norm));
  return composite(key, {x.as_array()}, [&](const Arrays& in) {
    const DType dtype = complex_dtype(in[0].dtype());
    Array y = plan.kind == Kind::to_half ? in[0].astype(real_dtype(dtype)) : in[0].astype(dtype);
    const size_t last = axes.size() - 1;
    if (plan.kind == Kind::to_half) y = along(y, axes[last], n[last], plan.kind, norm, plan.inverse);
    for (size_t i = 0; i < last + (plan.kind == Kind::complex); ++i)
      y = along(y, axes[i], n[i], Kind::complex, norm, plan.inverse);
    return plan.kind == Kind::from_half ? along(y, axes[last], n[last], plan.kind, norm, plan.inverse) : y;
  });
}

Array one(const Operand& x, const Plan& plan, const Options& options) {
  const AtLine line(x.loc());
  const int64_t ndim = static_cast<int64_t>(x.shape().size());
  const int64_t axis = normalize_axis(options.axis, ndim, plan.op, user_line(x.loc()));
  return run(x, plan, {axis}, options.n ? std::optional(Shape{*options.n}) : std::nullopt, options.norm);
}

Array many(const Operand& x, const Plan& plan, const ManyOptions& options, bool two) {
  const AtLine line(x.loc());
  const int64_t ndim = static_cast<int64_t>(x.shape().size());
  Shape axes;
  if (options.axes || two) {
    for (const int64_t axis : options.axes.value_or(Shape{-2, -1}))
      axes.push_back(normalize_axis(axis, ndim, plan.op, user_line(x.loc())));
  } else {
    axes.resize(options.shape ? options.shape->size() : static_cast<size_t>(ndim));
    std::iota(axes.begin(), axes.end(), ndim - std::ssize(axes));
  }
  if (two && axes.size() != 2)
    throw_user<ShapeError>(plan.op, fmt::format("axes {}", to_string(axes)), "two axes", "fftn takes any number",
                           user_line(x.loc()));
  for (auto axis = axes.begin(); axis != axes.end(); ++axis)
    if (std::find(axes.begin(), axis, *axis) != axis)
      throw_user<ShapeError>(plan.op, fmt::format("axes {}, with axis {} twice", to_string(axes), *axis),
                             "each axis once", "", user_line(x.loc()));
  if (axes.empty() || axes.front() < 0)
    throw_user<ShapeError>(plan.op, to_string(Aval{x.shape(), x.dtype()}), "at least one axis", "", user_line(x.loc()));
  return run(x, plan, axes, options.shape, options.norm);
}

// Returns the other direction's scale, which hfft and ihfft use.
Norm exchanged(Norm norm) {
  return norm == Norm::backward ? Norm::forward : norm == Norm::forward ? Norm::backward : norm;
}

Array shifted(std::string_view op, const Operand& x, const Axes& axes, bool back) {
  const AtLine line(x.loc());
  Array y = x.as_array();
  for (const int64_t axis : axes.resolve(y.ndim(), op, user_line(x.loc()))) {
    const int64_t half = y.shape(axis) / 2;
    y = roll(y, back ? -half : half, axis);
  }
  return y;
}

Array frequencies(const Array& counts, int64_t n, double d, DType dtype) {
  return convert(convert(counts, f64) / (static_cast<double>(n) * d), dtype);
}

void require_length(std::string_view op, int64_t n, std::source_location loc) {
  if (n < 1) throw_user<ShapeError>(op, fmt::format("n = {}", n), "1 or more", "", user_line(loc));
}

}  // namespace

Array fft(const Operand& x, const Options& options) { return one(x, {"fft"}, options); }
Array ifft(const Operand& x, const Options& options) { return one(x, {"ifft", Kind::complex, true}, options); }
Array rfft(const Operand& x, const Options& options) { return one(x, {"rfft", Kind::to_half}, options); }
Array irfft(const Operand& x, const Options& options) { return one(x, {"irfft", Kind::from_half, true}, options); }

Array hfft(const Operand& x, const Options& options) {
  const AtLine line(x.loc());
  return irfft(conj(x), {options.n, options.axis, exchanged(options.norm)});
}
Array ihfft(const Operand& x, const Options& options) {
  const AtLine line(x.loc());
  return conj(rfft(x, {options.n, options.axis, exchanged(options.norm)}));
}

Array fft2(const Operand& x, const ManyOptions& options) { return many(x, {"fft2"}, options, true); }
Array ifft2(const Operand& x, const ManyOptions& options) {
  return many(x, {"ifft2", Kind::complex, true}, options, true);
}
Array fftn(const Operand& x, const ManyOptions& options) { return many(x, {"fftn"}, options, false); }
Array ifftn(const Operand& x, const ManyOptions& options) {
  return many(x, {"ifftn", Kind::complex, true}, options, false);
}
Array rfft2(const Operand& x, const ManyOptions& options) { return many(x, {"rfft2", Kind::to_half}, options, true); }
Array irfft2(const Operand& x, const ManyOptions& options) {
  return many(x, {"irfft2", Kind::from_half, true}, options, true);
}
Array rfftn(const Operand& x, const ManyOptions& options) { return many(x, {"rfftn", Kind::to_half}, options, false); }
Array irfftn(const Operand& x, const ManyOptions& options) {
  return many(x, {"irfftn", Kind::from_half, true}, options, false);
}

// Throws where frequencies, which are fractions, would be rounded to integers.
static void require_floating(std::string_view op, DType dtype, std::source_location loc) {
  if (!is_float(dtype))
    throw_user<DTypeError>(op, fmt::format("dtype {}", name(dtype)), "a floating dtype", "", user_line(loc));
}

Array fftfreq(int64_t n, double d, DType dtype, std::source_location loc) {
  require_length("fftfreq", n, loc);
  require_floating("fftfreq", dtype, loc);
  const AtLine line(loc);
  const Array i = neap::iota({n}, 0, i64);
  return frequencies(select(i < n - n / 2, i, i - n), n, d, dtype);
}
Array rfftfreq(int64_t n, double d, DType dtype, std::source_location loc) {
  require_length("rfftfreq", n, loc);
  require_floating("rfftfreq", dtype, loc);
  const AtLine line(loc);
  return frequencies(neap::iota({n / 2 + 1}, 0, i64), n, d, dtype);
}

Array fftshift(const Operand& x, const Axes& axes) { return shifted("fftshift", x, axes, false); }
Array ifftshift(const Operand& x, const Axes& axes) { return shifted("ifftshift", x, axes, true); }

}  // namespace neap::fft
