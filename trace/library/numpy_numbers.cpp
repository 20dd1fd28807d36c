// Functions of numpy.h of numbers and their parts: divisors, exponents; windows of signals; what NaN leaves out.
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/numpy.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {
DType common_integers(std::string_view op, const Operand& x, const Operand& y) {
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = common_dtype(operands);
  if (!is_integer(dtype))
    throw_user<DTypeError>(op, fmt::format("{} and {}", name(x.dtype()), name(y.dtype())), "integers", "",
                           user_line(x.loc()));
  return dtype;
}

struct Pair {
  Array larger, smaller;
};
// Euclid's, for all elements until none has a remainder.
Array divisor(const Array& x, const Array& y) {
  const Array zero = zeros_like(x);
  return while_loop([&](const Pair& p) { return any(p.smaller != 0); },
                    [&](const Pair& p) {
                      const Array goes_on = p.smaller != 0;
                      return Pair{where(goes_on, p.smaller, p.larger),
                                  where(goes_on, remainder(p.larger, p.smaller), zero)};
                    },
                    Pair{x, y})
      .larger;
}
}  // namespace

Array gcd(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const DType dtype = common_integers("gcd", x, y);
  const std::array<const Operand*, 2> operands{&x, &y};
  const Shape shape = common_shape("gcd", operands);
  return composite("gcd", {fit(x, shape, dtype), fit(y, shape, dtype)},
                   [](const Arrays& in) { return divisor(abs(in[0]), abs(in[1])); });
}

Array lcm(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const DType dtype = common_integers("lcm", x, y);
  const std::array<const Operand*, 2> operands{&x, &y};
  const Shape shape = common_shape("lcm", operands);
  return composite("lcm", {fit(x, shape, dtype), fit(y, shape, dtype)}, [](const Arrays& in) {
    const Array a = abs(in[0]), b = abs(in[1]), d = divisor(a, b);
    return where(d == 0, 0, a * floor_divide(b, where(d == 0, 1, d)));
  });
}

std::pair<Array, Array> frexp(const Operand& x) {
  const AtLine line(x.loc());
  const Array a = x.as(to_float_dtype(x.dtype()));
  if (!is_float(a.dtype()))
    throw_user<DTypeError>("frexp", to_string(a.aval()), "a real dtype", "", user_line(x.loc()));
  const Array exponent = composite("frexp", {a}, [](const Arrays& in) {
    const Array v = in[0].astype(wide(in[0].dtype()));
    const bool twice = v.dtype() == DType::f64;
    const DType bits = twice ? DType::i64 : DType::i32;
    const int mantissa = twice ? 52 : 23, bias = twice ? 1022 : 126;
    // Subnormal numbers are scaled to normal ones first.
    const double smallest = twice ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
    const Array small = abs(v) < smallest, scaled = where(small, v * std::ldexp(1.0, mantissa + 1), v);
    const Array raw = (bitcast(scaled, bits) >> full({}, mantissa, bits)) & full({}, twice ? 0x7FF : 0xFF, bits);
    const Array power = raw.astype(DType::i32) - bias - where(small, mantissa + 1, 0);
    return where((v == 0) | !isfinite(v), 0, power);
  });
  const Array shift = where(isfinite(a), -exponent, 0);
  return {ldexp(a, shift), exponent};
}

namespace {
// Returns f(i, n - 1) for i = 0, 1, ..., n - 1, in f64; 1 where n is 1.
Array window(std::string_view op, int64_t n, DType dtype, std::source_location loc,
             const std::function<Array(const Array&, double)>& f) {
  const AtLine line(loc);
  if (n < 0) throw_user<ShapeError>(op, fmt::format("{} numbers", n), "0 or more", "", user_line(loc));
  if (!is_float(dtype))
    throw_user<DTypeError>(op, fmt::format("dtype {}", name(dtype)), "a floating dtype", "", user_line(loc));
  if (n <= 1) return ones({n}, dtype);
  const DType computed = wide(dtype);
  return f(iota({n}, 0, computed), static_cast<double>(n - 1)).astype(dtype);
}
}  // namespace

Array bartlett(int64_t n, DType dtype, std::source_location loc) {
  return window("bartlett", n, dtype, loc, [](const Array& i, double last) { return 1 - abs(2 * i - last) / last; });
}
Array hanning(int64_t n, DType dtype, std::source_location loc) {
  return window("hanning", n, dtype, loc,
                [](const Array& i, double last) { return 0.5 * (1 - cos(i * (2 * std::numbers::pi / last))); });
}
Array hamming(int64_t n, DType dtype, std::source_location loc) {
  return window("hamming", n, dtype, loc,
                [](const Array& i, double last) { return 0.54 - 0.46 * cos(i * (2 * std::numbers::pi / last)); });
}
Array blackman(int64_t n, DType dtype, std::source_location loc) {
  return window("blackman", n, dtype, loc, [](const Array& i, double last) {
    const Array angle = i * (2 * std::numbers::pi / last);
    return 0.08 * cos(2 * angle) - 0.5 * cos(angle) + 0.42;
  });
}

namespace {
Array nan_arg(const Operand& x, std::optional<int64_t> axis, bool keepdims, bool largest) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  const auto arg = [&](const Array& v) { return largest ? argmax(v, axis, keepdims) : argmin(v, axis, keepdims); };
  if (!is_float(a.dtype())) return arg(a);
  const Array missing = isnan(a);
  const double none = (largest ? -1 : 1) * std::numeric_limits<double>::infinity();
  return where(all(missing, axis ? Axes(*axis) : Axes(), keepdims), -1, arg(where(missing, none, a)));
}
}  // namespace

Array nanargmax(const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  return nan_arg(x, axis, keepdims, true);
}
Array nanargmin(const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  return nan_arg(x, axis, keepdims, false);
}
Array nancumsum(const Operand& x, std::optional<int64_t> axis, bool reverse) {
  const AtLine line(x.loc());
  return cumsum(is_inexact(x.dtype()) ? where(isnan(x), 0, x) : x.as_array(), axis, reverse);
}
Array nancumprod(const Operand& x, std::optional<int64_t> axis, bool reverse) {
  const AtLine line(x.loc());
  return cumprod(is_inexact(x.dtype()) ? where(isnan(x), 1, x) : x.as_array(), axis, reverse);
}

Array histogram_bin_edges(const Operand& x, int64_t bins) {
  const AtLine line(x.loc());
  if (bins < 1)
    throw_user<UserError>("histogram_bin_edges", fmt::format("{} bins", bins), "1 or more", "", user_line(x.loc()));
  const Array a = x.as(to_float_dtype(x.dtype())), low = min(a), high = max(a), half = where(low == high, 0.5, 0);
  return linspace(low - half, high + half, bins + 1, a.dtype());
}

Array ediff1d(const Operand& x) {
  const AtLine line(x.loc());
  return diff(ravel(x));
}

Array unwrap(const Operand& x, std::optional<double> discont, int64_t axis, double period) {
  const AtLine line(x.loc());
  const Array a = x.as(to_float_dtype(x.dtype()));
  if (!is_float(a.dtype()))
    throw_user<DTypeError>("unwrap", to_string(a.aval()), "a real dtype", "", user_line(x.loc()));
  if (!(period > 0))
    throw_user<UserError>("unwrap", fmt::format("period {}", period), "a number above 0", "", user_line(x.loc()));
  const int64_t over = normalize_axis(axis, a.ndim(), "unwrap", user_line(x.loc()));
  if (a.shape(over) < 2) return a;
  return composite(
      fmt::format("unwrap {} {} {}", discont.value_or(period / 2), over, period), {a}, [&](const Arrays& in) {
        const Array step = diff(in[0], 1, over);
        const Array around = mod(step + period / 2, period) - period / 2;
        const Array nearest = where((around == -period / 2) & (step > 0), period / 2, around);
        const Array added = where(abs(step) < discont.value_or(period / 2), 0, nearest - step);
        const int64_t n = in[0].shape(over);
        return concatenate({slice_in_dim(in[0], 0, 1, over), slice_in_dim(in[0], 1, n, over) + cumsum(added, over)},
                           over);
      });
}

}  // namespace neap
