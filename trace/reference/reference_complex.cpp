// Complex numbers in the reference interpreter: std::complex<double>, and the sum that defines the Fourier transform.
#include <cmath>
#include <numbers>

#include "trace/graph/op_table.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {
namespace {

using C = std::complex<double>;

// As they are written: the operators of std::complex repair infinities, which no backend does.
C times(C x, C y) { return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()}; }
C over(C x, C y) {
  if (y == C{}) return {x.real() / y.real(), x.imag() / y.real()};
  const auto is_infinite = [](C z) { return std::isinf(z.real()) || std::isinf(z.imag()); };
  if (is_infinite(y)) {  // what is finite over it is 0
    const auto unit = [](double part) { return std::copysign(std::isinf(part) ? 1.0 : 0.0, part); };
    const double zero = is_infinite(x) ? std::nan("") : 0;
    return times(x, {unit(y.real()), -unit(y.imag())}) * zero;
  }
  const double norm = y.real() * y.real() + y.imag() * y.imag();
  if (norm > 0x1p-900 && norm < 0x1p900) return times(x, std::conj(y)) / norm;
  const double scale = std::max(std::abs(y.real()), std::abs(y.imag()));
  const C small = y / scale;
  return times(x, std::conj(small)) / (std::norm(small) * scale);
}

C expm1(C z) {
  const double s = std::sin(z.imag() / 2), cosm1 = -2 * s * s;  // cos y - 1
  return {std::expm1(z.real()) * (1 + cosm1) + cosm1, std::exp(z).imag()};
}
C log1p(C z) {
  const double x = z.real(), y = z.imag();
  const double near = std::log1p(x * (2 + x) + y * y) / 2;
  return {std::abs(x) < 0.5 && std::abs(y) < 0.5 ? near : std::log(std::hypot(1 + x, y)), std::atan2(y, 1 + x)};
}

C unary(Op op, C z) {
  switch (op) {
    case Op::negative: return -z;
    case Op::square: return {(z.real() - z.imag()) * (z.real() + z.imag()), 2 * z.real() * z.imag()};
    case Op::reciprocal: return over(1, z);
    case Op::exp: return std::exp(z);
    case Op::expm1: return expm1(z);
    case Op::log: return std::log(z);
    case Op::log1p: return log1p(z);
    case Op::sqrt: return std::sqrt(z);
    case Op::sin: return std::sin(z);
    case Op::cos: return std::cos(z);
    case Op::tan: return std::tan(z);
    case Op::sinh: return std::sinh(z);
    case Op::cosh: return std::cosh(z);
    case Op::tanh: return std::tanh(z);
    case Op::stop_gradient: return z;
    default: throw InternalError(fmt::format("{} of complex in the reference interpreter", name(op)));
  }
}

C binary(Op op, C x, C y) {
  switch (op) {
    case Op::add: return x + y;
    case Op::subtract: return x - y;
    case Op::multiply: return times(x, y);
    case Op::divide: return over(x, y);
    default: throw InternalError(fmt::format("{} of complex in the reference interpreter", name(op)));
  }
}

}  // namespace

HostValue reference_complex_elementwise(Op op, std::span<const HostValue> in, Aval out) {
  const std::vector<C> last = decode<C>(in.back());
  std::vector<C> result(last.size());
  if (op == Op::select) {
    const std::vector<bool> condition = decode<bool>(in[0]);
    const std::vector<C> y = decode<C>(in[1]);
    for (size_t i = 0; i < result.size(); ++i) result[i] = condition[i] ? y[i] : last[i];
  } else if (in.size() == 2) {
    const std::vector<C> first = decode<C>(in[0]);
    for (size_t i = 0; i < result.size(); ++i) result[i] = binary(op, first[i], last[i]);
  } else {
    for (size_t i = 0; i < result.size(); ++i) result[i] = unary(op, last[i]);
  }
  return encode(result, std::move(out));
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

HostValue reference_fft(const HostValue& x, const Attrs& attrs, Aval out) {
  const int64_t axis = attrs.integer(Attr::axis), n = out.shape[axis];
  const double sign = attrs.integer(Attr::reverse) != 0 ? 1 : -1;
  std::vector<C> root(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k)
    root[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  const std::vector<C> from = decode<C>(x);
  const int64_t stride = row_major_strides(out.shape)[axis];
  std::vector<C> result(from.size());
  for (const int64_t start : offsets_along(out.shape, other_axes(out.ndim(), {axis})))
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < n; ++j) result[start + k * stride] += times(from[start + j * stride], root[j * k % n]);
  return encode(result, std::move(out));
}

}  // namespace neap::tracing
