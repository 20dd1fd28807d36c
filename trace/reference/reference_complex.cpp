// Complex numbers in the reference interpreter: std::complex<double>, and the sum that defines the Fourier transform.
#include <cmath>
#include <numbers>

#include "trace/graph/op_table.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {

using C = std::complex<double>;

// What the `complex` column of <neap/ops.def> names.
namespace cref {
namespace {

// As they are written: the operators of std::complex repair infinities, which no backend does.
C multiply(C x, C y) { return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()}; }
C divide(C x, C y) {
  if (y == C{}) return {x.real() / y.real(), x.imag() / y.real()};
  const auto is_infinite = [](C z) { return std::isinf(z.real()) || std::isinf(z.imag()); };
  if (is_infinite(y)) {  // what is finite over it is 0
    const auto unit = [](double part) { return std::copysign(std::isinf(part) ? 1.0 : 0.0, part); };
    const double zero = is_infinite(x) ? std::nan("") : 0;
    return multiply(x, {unit(y.real()), -unit(y.imag())}) * zero;
  }
  const double norm = y.real() * y.real() + y.imag() * y.imag();
  if (norm > 0x1p-900 && norm < 0x1p900) return multiply(x, std::conj(y)) / norm;
  const double scale = std::max(std::abs(y.real()), std::abs(y.imag()));
  const C small = y / scale;
  return multiply(x, std::conj(small)) / (std::norm(small) * scale);
}

C square(C x) { return {(x.real() - x.imag()) * (x.real() + x.imag()), 2 * x.real() * x.imag()}; }
C expm1(C z) {
  const double s = std::sin(z.imag() / 2), cosm1 = -2 * s * s;  // cos y - 1
  return {std::expm1(z.real()) * (1 + cosm1) + cosm1, std::exp(z).imag()};
}
C log1p(C z) {
  const double x = z.real(), y = z.imag();
  const double near = std::log1p(x * (2 + x) + y * y) / 2;
  return {std::abs(x) < 0.5 && std::abs(y) < 0.5 ? near : std::log(std::hypot(1 + x, y)), std::atan2(y, 1 + x)};
}

}  // namespace
}  // namespace cref

namespace {

constexpr struct None {
} none;  // of a row that takes no complex numbers

struct Rows {
  std::span<const HostValue> in;
  Aval out;

  template <class... X, class F>
  HostValue each(const F& f, const std::vector<X>&... x) const {
    std::vector<C> result(static_cast<size_t>(out.size()));
    for (size_t i = 0; i < result.size(); ++i) result[i] = f(x[i]...);
    return encode(result, out);
  }

  HostValue run(Op op) const {
    switch (op) {
#define NEAP_UNARY(name, types, dx, kernel, reference, complex, doc)                     \
  case Op::name: {                                                                       \
    const auto f = []([[maybe_unused]] C x) { return complex; };                         \
    if constexpr (std::same_as<decltype(f({})), C>) return each<C>(f, decode<C>(in[0])); \
    break;                                                                               \
  }
#define NEAP_BINARY(name, types, dx, dy, kernel, reference, complex, doc)                                         \
  case Op::name: {                                                                                                \
    const auto f = []([[maybe_unused]] C x, [[maybe_unused]] C y) { return complex; };                            \
    if constexpr (std::same_as<decltype(f({}, {})), C>) return each<C, C>(f, decode<C>(in[0]), decode<C>(in[1])); \
    break;                                                                                                        \
  }
#define NEAP_TERNARY(name, types, dx, dy, dz, kernel, reference, complex, doc)                                   \
  case Op::name: {                                                                                               \
    using First = std::conditional_t<TypeRule::types == TypeRule::select, bool, C>;                              \
    const auto f = []([[maybe_unused]] First x, [[maybe_unused]] C y, [[maybe_unused]] C z) { return complex; }; \
    if constexpr (std::same_as<decltype(f({}, {}, {})), C>) {                                                    \
      return each<First, C, C>(f, decode<First>(in[0]), decode<C>(in[1]), decode<C>(in[2]));                     \
    }                                                                                                            \
    break;                                                                                                       \
  }
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY
      default: break;
    }
    throw InternalError(fmt::format("{} of complex in the reference interpreter", name(op)));
  }
};

}  // namespace

HostValue reference_complex_elementwise(Op op, std::span<const HostValue> in, Aval out) {
  return Rows{in, std::move(out)}.run(op);
}

HostValue reference_complex(Op op, std::span<const HostValue> in, Aval out) {
  if (op == Op::complex) {
    const std::vector<double> re = decode<double>(in[0]), im = decode<double>(in[1]);
    std::vector<C> result(re.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = {re[i], im[i]};
    return encode(result, std::move(out));
  }
  const std::vector<C> z = decode<C>(in[0]);
  std::vector<double> result(z.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = op == Op::real ? z[i].real() : z[i].imag();
  return encode(result, std::move(out));
}

namespace {

// Of an array of shape `shape`, transforms along the axis.
std::vector<C> transformed(const std::vector<C>& from, const Shape& shape, int64_t axis, bool reverse) {
  const int64_t n = shape[axis], stride = row_major_strides(shape)[axis];
  const double sign = reverse ? 1 : -1;
  std::vector<C> root(static_cast<size_t>(n)), result(from.size());
  for (int64_t k = 0; k < n; ++k)
    root[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  for (const int64_t start : offsets_along(shape, other_axes(std::ssize(shape), {axis})))
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < n; ++j)
        result[start + k * stride] += cref::multiply(from[start + j * stride], root[j * k % n]);
  return result;
}

std::vector<C> from_pairs(const std::vector<double>& x) {
  std::vector<C> z(x.size() / 2);
  for (size_t i = 0; i < z.size(); ++i) z[i] = {x[2 * i], x[2 * i + 1]};
  return z;
}
std::vector<double> to_pairs(const std::vector<C>& z) {
  std::vector<double> x;
  for (const C& c : z) x.insert(x.end(), {c.real(), c.imag()});
  return x;
}

// Elements along an axis, of an array of shape `from`, where `to` has more or fewer: of `of(k)` at k.
template <class Of>
std::vector<C> resized(const std::vector<C>& z, const Shape& from, const Shape& to, int64_t axis, const Of& of) {
  std::vector<C> result(static_cast<size_t>(element_count(to)));
  const int64_t from_stride = row_major_strides(from)[axis], to_stride = row_major_strides(to)[axis];
  const std::vector<int64_t> from_starts = offsets_along(from, other_axes(std::ssize(from), {axis})),
                             to_starts = offsets_along(to, other_axes(std::ssize(to), {axis}));
  for (size_t i = 0; i < to_starts.size(); ++i)
    for (int64_t k = 0; k < to[axis]; ++k)
      result[to_starts[i] + k * to_stride] = of(k, [&](int64_t j) { return z[from_starts[i] + j * from_stride]; });
  return result;
}

}  // namespace

HostValue reference_fft(Op op, const HostValue& x, const Attrs& attrs, Aval out) {
  const int64_t axis = attrs.integer(Attr::axis);
  const bool reverse = attrs.integer(Attr::reverse) != 0;
  if (op == Op::fft) return encode(transformed(decode<C>(x), out.shape, axis, reverse), std::move(out));
  const std::vector<double> elements = decode<double>(x);
  if (op == Op::rfft_pairs) {
    const std::vector<C> whole =
        transformed(std::vector<C>(elements.begin(), elements.end()), x.aval.shape, axis, reverse);
    const Shape half(out.shape.begin(), out.shape.end() - 1);
    return encode(to_pairs(resized(whole, x.aval.shape, half, axis, [](int64_t k, auto at) { return at(k); })),
                  std::move(out));
  }
  const Shape shape(x.aval.shape.begin(), x.aval.shape.end() - 1);
  std::vector<C> z = from_pairs(elements);
  if (op == Op::fft_pairs) return encode(to_pairs(transformed(z, shape, axis, reverse)), std::move(out));
  const int64_t n = out.shape[axis];
  const auto mirrored = [&](int64_t k, auto at) {
    if (k == 0 || 2 * k == n) return C(at(k).real());
    return 2 * k < n ? at(k) : std::conj(at(n - k));
  };
  z = transformed(resized(z, shape, out.shape, axis, mirrored), out.shape, axis, reverse);
  std::vector<double> reals;
  for (const C& c : z) reals.push_back(c.real());
  return encode(reals, std::move(out));
}

}  // namespace neap::tracing
