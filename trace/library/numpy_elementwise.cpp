// Elementwise functions of numpy.h.
#include <neap/creation.h>
#include <neap/numpy.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

Array floating(const Operand& x) { return x.as(to_float_dtype(x.dtype())); }

// Returns both in their one dtype, a floating one.
std::pair<Array, Array> floating(const Operand& x, const Operand& y) {
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = to_float_dtype(common_dtype(operands));
  return {x.as(dtype), y.as(dtype)};
}

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.FEp127;
    case DType::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

}  // namespace

Array round(const Operand& x, int64_t decimals) {
  const AtLine line(x.loc());
  const DType dtype = x.dtype();
  if (is_complex(dtype)) return complex(round(real(x), decimals), round(imag(x), decimals));
  if (decimals >= 0 && !is_float(dtype)) return x.as_array();
  if (decimals == 0) return rint(x);
  const Array a = x.as(wide(to_float_dtype(dtype)));
  const double scale = std::pow(10.0, static_cast<double>(decimals));
  if (decimals > 0) {
    const Array rounded = rint(a * scale) / scale;  // beyond the dtype's range there is nothing to round
    return where(isfinite(rounded), rounded, a).astype(dtype);
  }
  // Nothing but 0 is a multiple of what the dtype does not hold.
  if (scale == 0 || 1 / scale > (a.dtype() == DType::f64 ? std::numeric_limits<double>::max()
                                                         : double{std::numeric_limits<float>::max()}))
    return where(isfinite(a), 0, a).astype(dtype);
  return (rint(a / (1 / scale)) * (1 / scale)).astype(dtype);
}
Array fix(const Operand& x) { return trunc(x); }
Array positive(const Operand& x) { return x.as_array(); }
Array fmod(const Operand& x, const Operand& y) { return remainder(x, y); }
Array float_power(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const auto [a, b] = floating(x, y);
  return pow(a, b);
}
std::pair<Array, Array> divmod(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const Array q = floor_divide(x, y);
  if (!is_float(q.dtype())) return {q, mod(x, y)};
  return {where(isinf(x.as(q.dtype())) & (y != 0), std::numeric_limits<double>::quiet_NaN(), q), mod(x, y)};
}
std::pair<Array, Array> modf(const Operand& x) {
  const AtLine line(x.loc());
  const Array a = floating(x), whole = trunc(a);
  return {a - whole, whole};
}
Array ldexp(const Operand& x, const Operand& exponent) {
  const AtLine line(x.loc());
  const Array given = floating(x);
  const DType dtype = given.dtype(), computed = wide(dtype);
  // The scaling takes four steps, as 2^e itself may be out of range. Beyond these exponents every finite number becomes
  // 0 or infinite: f64 spans 2^-1074 to 2^1024, f32 2^-149 to 2^128.
  const double most = computed == DType::f64 ? 2200 : 300;
  const Array a = given.astype(computed), e = clip(exponent.as(computed), -most, most), step = trunc(e / 4.0);
  const Array power = exp2(step);
  const Array moved = a * power * power * power * exp2(e - 3.0 * step);
  return where((a == 0) | !isfinite(a), a, moved).astype(dtype);
}

Array fmax(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return where((x > y) | isnan(y), x, y);
}
Array fmin(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return where((x < y) | isnan(y), x, y);
}
Array heaviside(const Operand& x, const Operand& at_zero) {
  const AtLine line(x.loc());
  const auto [a, b] = floating(x, at_zero);
  return where(isnan(a), a, where(a < 0, 0, where(a > 0, 1, b)));
}
Array sinc(const Operand& x) {
  const AtLine line(x.loc());
  const DType dtype = to_float_dtype(x.dtype());
  const Array given = x.as(wide(dtype)), a = given * std::numbers::pi;
  // Exact: the sine of a large number times a rounded pi would be another one.
  const Array turn = is_complex(dtype) ? given : given - 2.0 * rint(given * 0.5);
  // Near zero Taylor's series: each derivative of the quotient would lose digits by another division by a.
  const Array near = abs(a) < 1, square_of = square(where(near, a, 0));
  Array series = ones_like(a);
  for (int k = a.dtype() == DType::f64 ? 11 : 6; k > 0; --k) series = 1 - square_of * series / (2.0 * k * (2 * k + 1));
  const Array far = sin(where(near, 1, turn * std::numbers::pi)) / where(near, 1, a);
  return where(near, series, far).astype(dtype);
}
Array deg2rad(const Operand& x) {
  const AtLine line(x.loc());
  return floating(x) * (std::numbers::pi / 180);
}
Array rad2deg(const Operand& x) {
  const AtLine line(x.loc());
  return floating(x) * (180 / std::numbers::pi);
}
Array logaddexp2(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const auto [high, below] = larger_and_difference(x, y);
  return high + log1p(exp2(below)) * std::numbers::log2e;
}
Array logical_xor(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return bitwise_xor(x.as(DType::bool_), y.as(DType::bool_));
}
Array isposinf(const Operand& x) {
  const AtLine line(x.loc());
  return isinf(x) & (x > 0);
}
Array isneginf(const Operand& x) {
  const AtLine line(x.loc());
  return isinf(x) & (x < 0);
}
Array nan_to_num(const Operand& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  if (is_complex(a.dtype()))
    return complex(nan_to_num(real(a), nan, posinf, neginf), nan_to_num(imag(a), nan, posinf, neginf));
  if (!is_float(a.dtype())) return a;
  const double most = largest_finite(a.dtype());
  return where(isnan(a), nan, where(isposinf(a), posinf.value_or(most), where(isneginf(a), neginf.value_or(-most), a)));
}
Array isclose(const Operand& x, const Operand& y, double rtol, double atol, bool equal_nan) {
  const AtLine line(x.loc());
  const auto [a, b] = floating(x, y);
  const Array finite = isfinite(a) & isfinite(b);
  const Array near = where(finite, abs(a - b) <= atol + rtol * abs(b), a == b);
  return equal_nan ? near | (isnan(a) & isnan(b)) : near;
}
Array allclose(const Operand& x, const Operand& y, double rtol, double atol, bool equal_nan) {
  const AtLine line(x.loc());
  return all(isclose(x, y, rtol, atol, equal_nan));
}
Array array_equal(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return x.shape() == y.shape() ? all(x == y) : full({}, false, DType::bool_);
}

// --- special functions

Array expit(const Operand& x) { return sigmoid(x); }
Array xlogy(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const auto [a, b] = floating(x, y);
  const Array safe = where((a == 0) & (b == b) & !isfinite(log(b)), 1, b);  // 0 * log(b) is 0, its derivative log(b)
  return a * log(safe);
}
Array xlog1py(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const auto [a, b] = floating(x, y);
  const Array safe = where((a == 0) & (b == b) & !isfinite(log1p(b)), 0, b);
  return a * log1p(safe);
}
Array ndtr(const Operand& x) {
  const AtLine line(x.loc());
  const DType dtype = to_float_dtype(x.dtype());
  return (erfc(x.as(wide(dtype)) * -std::numbers::sqrt2 / 2.0) * 0.5).astype(dtype);
}

// --- activations

Array leaky_relu(const Operand& x, const Operand& slope) {
  const AtLine line(x.loc());
  return where(x >= 0, x, slope * x);
}
Array elu(const Operand& x, const Operand& alpha) {
  const AtLine line(x.loc());
  const Array above = x > 0;
  return where(above, x, alpha * expm1(where(above, 0, x)));
}
Array celu(const Operand& x, const Operand& alpha) {
  const AtLine line(x.loc());
  return maximum(x, 0) + alpha * expm1(minimum(x, 0) / alpha);
}
Array selu(const Operand& x) {
  const AtLine line(x.loc());
  return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717);
}
Array gelu_tanh(const Operand& x) {
  const AtLine line(x.loc());
  const DType dtype = to_float_dtype(x.dtype());
  const Array a = x.as(wide(dtype));
  // (1 + tanh(u)) / 2 without its loss
  return (a * sigmoid(1.59576912160573071176 * (a + 0.044715 * (a * a * a)))).astype(dtype);
}
Array relu6(const Operand& x) {
  const AtLine line(x.loc());
  return where(x <= 0, 0, where(x >= 6, 6, x));  // NaN stays; the derivative is 0 at both bends, as relu's
}
Array hard_tanh(const Operand& x) {
  const AtLine line(x.loc());
  return is_unsigned(x.dtype()) ? minimum(x, 1) : where(x > 1, 1, where(x < -1, -1, x));
}
Array hard_sigmoid(const Operand& x) {
  const AtLine line(x.loc());
  return relu6(x + 3.0) / 6.0;
}
Array hard_silu(const Operand& x) {
  const AtLine line(x.loc());
  const Array a = floating(x), outside = abs(a) >= 3, inside = where(outside, 0, a);
  // Outside a product with a constant, so that infinity times a derivative of 0 is nowhere.
  return where(outside, a * where(a > 0, ones_like(a), 0), inside * ((inside + 3.0) / 6.0));
}
Array log_sigmoid(const Operand& x) {
  const AtLine line(x.loc());
  return -softplus(-floating(x));
}
Array soft_sign(const Operand& x) {
  const AtLine line(x.loc());
  const Array a = floating(x);
  return a / (abs(a) + 1);
}
Array squareplus(const Operand& x, const Operand& b) {
  const AtLine line(x.loc());
  const Array a = floating(x);
  return 0.5 * (a + sqrt(square(a) + b));
}
Array mish(const Operand& x) {
  const AtLine line(x.loc());
  const Array a = floating(x);
  return a * tanh(softplus(a));
}
Array glu(const Operand& x, int64_t axis) {
  const AtLine line(x.loc());
  const std::vector<Array> halves = split(Operand(x.as_array(), x.loc()), 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

Array full_like(const Operand& x, const Operand& value, std::optional<DType> dtype) {
  return full(x.shape(), value, dtype.value_or(x.dtype()), x.loc());
}

}  // namespace neap
