// The gamma function and quotients of it.
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/special.h>
#include <neap/transforms.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "trace/library/special_common.h"

namespace neap {

namespace tracing {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Returns the sine of pi x, exactly 0 at integers.
Array sine_of_turns(const Array& x) {
  const Array whole = rint(x), odd = (whole - 2 * floor(whole * 0.5)) != 0;
  const Array s = sin((x - whole) * std::numbers::pi);
  return where(odd, -s, s);
}

// Below 10 by the recurrence from [1, 2); beyond Stirling's series, whose power is squared, as it would be out of range
// where gamma is not; negative numbers by reflection (Abramowitz and Stegun 6.1.15, 6.1.17, 6.1.37).
Array gamma_value(const Array& x) {
  const Array a = abs(x), whole = floor(a), fraction = a - whole;
  Array product = 1 / chebyshev(kReciprocalGamma, fraction);
  for (int k = 1; k < 9; ++k) product = product * where(whole > k, fraction + k, 1);
  const Array small = where(whole == 0, product / a, product);
  // From here on gamma is out of range; its reciprocal, too.
  const Array b = minimum(a, x.dtype() == DType::f64 ? 190.0 : 45.0), power = pow(b, 0.5 * b - 0.25);
  const Array scale = std::sqrt(2 * std::numbers::pi) * (exp(-b) * exp(stirling_rest(b)));
  const Array near = a < 10;
  const Array reflected = -std::numbers::pi / (a * sine_of_turns(a));
  const Array below = where(near, reflected / small, reflected / power / (power * scale));
  const Array result = where(x > 0, where(near, small, power * (power * scale)), below);
  return where(a == 0, copysign(full({}, kInfinity, x.dtype()), x), where((x < 0) & (fraction == 0), kNan, result));
}

}  // namespace

Array gamma_function(const Array& x) {
  return custom_jvp(
      gamma_value, [](const Array& a, const Array& t) { return t * (gamma_function(a) * digamma(a)); },
      user_line({}))(x);
}

// Of positive numbers: each term of the recurrence (6.3.6) and of the asymptotic series (6.3.18) by its own difference.
Array digamma_difference(const Array& z, const Array& m) {
  const Array sum = z + m, positive = (z > 0) & (sum > 0) & isfinite(sum), near = z < 10;
  const Array low = where(positive, z, 1), step = where(positive, m, 0);
  const Array shifted = where(near, low + 10, low), top = shifted + step;
  constexpr double kTerms[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const std::span<const double> terms(kTerms, z.dtype() == DType::f64 ? 7 : 3);
  const Array r = 1 / square(shifted), r_top = 1 / square(top);
  Array difference =
      log1p(step / shifted) + step / (2 * shifted * top) + (r * horner(r, terms) - r_top * horner(r_top, terms));
  for (int k = 0; k < 10; ++k) {
    const Array at = where(near, low + k, 1);
    difference = difference + where(near, step / at / (at + step), 0);
  }
  const Array plain = digamma(where(positive, 1, sum)) - digamma(where(positive, 1, z));
  return where(positive, difference, plain);
}

Array reciprocal_gamma_plus_1(const Array& x) {
  const Array whole = floor(x), fraction = x - whole;
  Array product = ones_like(x);
  for (int k = 1; k < 10; ++k) product = product * where(whole >= k, fraction + k, 1);
  return chebyshev(kReciprocalGamma, fraction) / product;
}

}  // namespace tracing

using namespace tracing;

namespace {

Array sign_of_gamma(const Array& x) {
  const Array whole = floor(x), odd = (whole - 2 * floor(whole * 0.5)) != 0;
  const Array below = where(x == whole, kNan, where(odd, -1.0, ones_like(x)));
  return stop_gradient(where(x > 0, 1.0, where(x == 0, copysign(ones_like(x), x), where(isnan(x), x, below))));
}

// Returns gamma(z + m) / gamma(z) for z and z + m from 10 on, by the difference of Stirling's series.
Array poch_of_large(const Array& z, const Array& m) {
  return pow(z, m) * exp((z + m - 0.5) * log1p(m / z) - m + (stirling_rest(z + m) - stirling_rest(z)));
}

Array poch_value(const Array& z, const Array& m) {
  const Array sum = z + m;
  // What the sum has lost: gamma is steep.
  const Array z_part = sum - m, lost = where(isfinite(sum), (z - z_part) + (m - (sum - z_part)), 0);
  const Array slope = where(sum >= 2, log(sum) - 0.5 / sum - 1.0 / 12 / square(sum), 0);

  // At poles of gamma(z): (-1)^m gamma(1 - z) / gamma(1 - z - m) for an integer m, 0 where that is 1 / gamma of a pole.
  const Array pole = (z <= 0) & (z == floor(z)), whole = m == floor(m), odd = (m - 2 * floor(m * 0.5)) != 0;
  const Array quotient = gamma_value(where(pole, 1 - z, sum)) / gamma_value(where(pole, 1 - sum, z));
  const Array by_gamma = quotient * (1 + lost * slope);
  const Array at_pole = where(whole & (sum <= 0), where(odd, -quotient, quotient), 0);
  const Array infinite = (sum <= 0) & (sum == floor(sum));

  const Array large = (z >= 10) & (sum >= 10);
  const Array general = where(large, poch_of_large(where(large, z, 10), where(large, m, 0)), by_gamma);
  return where(m == 0, where(isnan(z), z, 1),
               where(pole, where(isnan(m), m, at_pole), where(infinite, kInfinity, general)));
}

Array poch_of(const Array& z, const Array& m) {
  return custom_jvp(
      poch_value,
      [](const Array& a, const Array& b, const Array& da, const Array& db) {
        return poch_of(a, b) * (da * digamma_difference(a, b) + db * digamma(a + b));
      },
      user_line({}))(z, m);
}

Array beta_value(const Array& x, const Array& y) {
  const Array low = minimum(x, y), high = maximum(x, y);
  // gamma(low) / poch(high, low), or the other way round at poles: a quotient in range, but where both are large.
  const Array turned = (high >= 10) & ((low > 0) | ((low + high >= 10) & (low != floor(low))));
  const Array quotient =
      gamma_value(where(turned, low, high)) / poch_value(where(turned, high, low), where(turned, low, high));
  const Array large = low >= 10;
  const Array by_logarithm = exp(log_beta_of_large(where(large, low, 10), where(large, high, 10)));
  return where((high == kInfinity) & (low > 0), 0, where(large, by_logarithm, quotient));
}

Array beta_of(const Array& x, const Array& y) {
  return custom_jvp(
      beta_value,
      [](const Array& a, const Array& b, const Array& da, const Array& db) {
        return -beta_of(a, b) * (da * digamma_difference(a, b) + db * digamma_difference(b, a));
      },
      user_line({}))(x, y);
}

}  // namespace

Array gamma(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("gamma", x, gamma_function);
}
Array gammasgn(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("gammasgn", x, sign_of_gamma);
}
Array gammaln(const Operand& x) { return lgamma(x); }
Array factorial(const Operand& n) {
  const AtLine line(n.loc());
  return of_reals("factorial", n, [](const Array& x) {
    const Array least = x >= 1, between = (x < 1) & (x >= 0);  // not by gamma(x + 1): the sum would be rounded
    const Array safe = gamma_function(where(least, x, where(between, x + 1, 1)));
    return where(least, x * safe, where(x < 0, 0, where(between, safe, x)));
  });
}
Array poch(const Operand& z, const Operand& m) {
  const AtLine line(z.loc());
  return of_reals("poch", {&z, &m}, [](const Arrays& in) { return poch_of(in[0], in[1]); });
}
Array beta(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return of_reals("beta", {&x, &y}, [](const Arrays& in) { return beta_of(in[0], in[1]); });
}
Array multigammaln(const Operand& a, int64_t d) {
  const AtLine line(a.loc());
  if (d < 1)
    throw_user<ShapeError>("multigammaln", fmt::format("dimension {}", d), "a dimension of at least 1", "",
                           user_line(a.loc()));
  return of_reals(fmt::format("multigammaln {}", d), a, [d](const Array& x) {
    const auto n = static_cast<double>(d);
    Array sum = lgamma(x) + n * (n - 1) / 4 * std::log(std::numbers::pi);
    for (int64_t j = 1; j < d; ++j) sum = sum + lgamma(x - 0.5 * static_cast<double>(j));
    return sum;
  });
}

}  // namespace neap
