// The normal distribution's tails.
#include <neap/creation.h>
#include <neap/special.h>
#include <neap/transforms.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "trace/library/special_common.h"

namespace neap {

using namespace tracing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLogRootTwoPi = 0.91893853320467274178;

// Below this the asymptotic series (Abramowitz and Stegun 26.2.12) has the dtype's digits.
double far_out(DType dtype) { return dtype == DType::f64 ? -10 : -6; }

// Returns ndtr(x) over the density times -x, below far_out(): 1 - 1 / x^2 + 3 / x^4 - ...
Array mills_series(const Array& x) {
  const Array r = 1 / square(x);
  Array series = ones({}, x.dtype());
  for (int k = x.dtype() == DType::f64 ? 20 : 9; k > 0; --k) series = 1 - (2.0 * k - 1) * r * series;
  return series;
}

// Returns ndtr(x). The tail is steep: what the product with a rounded root of 1/2 has lost is put back, by a bound for
// erfc's slope that is right within 3 % (Abramowitz and Stegun 7.1.13).
Array lower_tail(const Array& x) {
  const double root = -0.5 * std::numbers::sqrt2;
  const double rounded = x.dtype() == DType::f64 ? root : static_cast<float>(root);
  const double rest = x.dtype() == DType::f64 ? 4.833646656726457e-17 : root - rounded;
  const Array z = x * rounded, tail = (z > 1) & (z < 40), y = where(tail, x, -2), w = where(tail, z, 2);
  const Array lost = fma(y, full({}, rounded, x.dtype()), -w) + y * rest;
  const Array slope = w + sqrt(square(w) + 4 / std::numbers::pi);
  return 0.5 * erfc(z) * stop_gradient(where(tail, 1 - lost * slope, 1));
}

// Returns the density, its exponent with what squaring it has lost.
Array density(const Array& x) {
  const Array y = clamp(x, -40, 40), s = square(y);
  return exp(-0.5 * s - kLogRootTwoPi) * stop_gradient(1 - 0.5 * fma(y, y, -s));
}

Array log_ndtr_value(const Array& x) {
  const Array far = x < far_out(x.dtype()), z = where(far, x, far_out(x.dtype()));
  const Array tail = -0.5 * square(z) - log(-z) - kLogRootTwoPi + log(mills_series(z));
  const Array above = x > 0, part = lower_tail(where(above, -x, where(far, 0, x)));
  return where(x == -kInfinity, x, where(far, tail, where(above, log1p(-part), log(part))));
}

// Returns the density over ndtr(x).
Array hazard(const Array& x) {
  const Array far = x < far_out(x.dtype()), z = where(far, x, far_out(x.dtype())), y = where(far, 0, x);
  return where(far, -z / mills_series(z), density(y) / lower_tail(y));
}

Array log_ndtr_of(const Array& x) {
  return custom_jvp(log_ndtr_value, [](const Array& a, const Array& t) { return t * hazard(a); }, user_line({}))(x);
}

// In the middle by erf_inv; the lower tail by a start within 5e-4 (Abramowitz and Stegun 26.2.23) and steps of Halley's
// method, which make its third power of an error; the upper by symmetry.
Array ndtri_value(const Array& p) {
  const Array above = p > 0.5, low = where(above, 1 - p, p), inside = (low > 0) & (low < 0.5);
  const Array q = where(inside, low, 0.25), t = sqrt(-2 * log(q));
  Array z = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (int step = p.dtype() == f64 ? 2 : 1; step > 0; --step) {
    // The density is out of range where q is nearly so: by logarithms.
    const Array off = (lower_tail(z) - q) / q * exp(log(q) + 0.5 * square(z) + kLogRootTwoPi);
    z = z - off / (1 + 0.5 * z * off);
  }
  const Array value = where(inside, z, where(low == 0, -kInfinity, kNan));
  const Array middle = abs(p - 0.5) < 0.25, central = std::numbers::sqrt2 * erf_inv(where(middle, 2 * p - 1, 0));
  return where(middle, central, where(above, -value, value));
}

Array ndtri_of(const Array& p) {
  return custom_jvp(
      ndtri_value, [](const Array& at, const Array& t) { return t * exp(0.5 * square(ndtri_of(at)) + kLogRootTwoPi); },
      user_line({}))(p);
}

}  // namespace

Array log_ndtr(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("log_ndtr", x, log_ndtr_of);
}
Array ndtri(const Operand& p) {
  const AtLine line(p.loc());
  return of_reals("ndtri", p, ndtri_of);
}

}  // namespace neap
