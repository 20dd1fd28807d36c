// The normal distribution's tails.
#include <neap/creation.h>
#include <neap/special.h>
#include <neap/transforms.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <span>

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

// Quotients of polynomials within 2^-50 (Wichura 1988, AS 241): in the middle q times one in 0.425^2 - q^2, q = p -
// 1/2; beyond of r = sqrt(-log(p)), in r - 1.6 and, where that is above 5, in r - 5.
Array ndtri_f64(const Array& p) {
  struct Coefficients {
    double middle, tail, far;
  };
  static constexpr Coefficients kAbove[] = {
      {3.3871328727963666080e0, 1.42343711074968357734e0, 6.65790464350110377720e0},
      {1.3314166789178437745e2, 4.63033784615654529590e0, 5.46378491116411436990e0},
      {1.9715909503065514427e3, 5.76949722146069140550e0, 1.78482653991729133580e0},
      {1.3731693765509461125e4, 3.64784832476320460504e0, 2.96560571828504891230e-1},
      {4.5921953931549871457e4, 1.27045825245236838258e0, 2.65321895265761230930e-2},
      {6.7265770927008700853e4, 2.41780725177450611770e-1, 1.24266094738807843860e-3},
      {3.3430575583588128105e4, 2.27238449892691845833e-2, 2.71155556874348757815e-5},
      {2.5090809287301226727e3, 7.74545014278341407640e-4, 2.01033439929228813265e-7}};
  static constexpr Coefficients kBelow[] = {
      {1, 1, 1},
      {4.2313330701600911252e1, 2.05319162663775882187e0, 5.99832206555887937690e-1},
      {6.8718700749205790830e2, 1.67638483018380384940e0, 1.36929880922735805310e-1},
      {5.3941960214247511077e3, 6.89767334985100004550e-1, 1.48753612908506148525e-2},
      {2.1213794301586595867e4, 1.48103976427480074590e-1, 7.86869131145613259100e-4},
      {3.9307895800092710610e4, 1.51986665636164571966e-2, 1.84631831751005468180e-5},
      {2.8729085735721942674e4, 5.47593808499534494600e-4, 1.42151175831644588870e-7},
      {5.2264952788528545610e3, 1.05075007164441684324e-9, 2.04426310338993978564e-15}};
  const auto number = [](double value) { return full({}, value, f64); };
  const Array q = p - 0.5, middle = abs(q) <= 0.425, below = q < 0, low = where(below, p, 1 - p);
  const Array r = sqrt(-log(low)), far = r > 5,
              at = where(middle, 0.180625 - q * q, r - where(far, number(5), number(1.6)));
  const auto polynomial = [&](std::span<const Coefficients> coefficients) {
    Array sum;
    for (size_t k = coefficients.size(); k-- > 0;) {
      const auto& [in_middle, in_tail, in_far] = coefficients[k];
      const Array one = where(middle, number(in_middle), where(far, number(in_far), number(in_tail)));
      sum = k + 1 == coefficients.size() ? one : fma(sum, at, one);
    }
    return sum;
  };
  const Array value = polynomial(kAbove) / polynomial(kBelow), tail = where(low == 0, kInfinity, value);
  return where(middle, q * value, where(below, -tail, tail));
}

// In the middle by erf_inv; the lower tail by a start within 5e-4 (Abramowitz and Stegun 26.2.23) and a step of
// Halley's method, which makes its third power of an error; the upper by symmetry.
Array ndtri_value(const Array& p) {
  if (p.dtype() == f64) return ndtri_f64(p);
  const Array above = p > 0.5, low = where(above, 1 - p, p), inside = (low > 0) & (low < 0.5);
  const Array q = where(inside, low, 0.25), t = sqrt(-2 * log(q));
  Array z = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  // The density is out of range where q is nearly so: by logarithms.
  const Array off = (lower_tail(z) - q) / q * exp(log(q) + 0.5 * square(z) + kLogRootTwoPi);
  z = z - off / (1 + 0.5 * z * off);
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
