// The incomplete gamma functions.
//
// P is x^a exp(-x) / gamma(a + 1) times five terms of its series (DLMF 8.7.1) and an integral for a + 5; Q = 1 - P is
// such an integral itself (8.6.4, t = x exp(v)), special_quadrature.h. So there is no loop, and derivatives in a are
// those of the same integrals.
#include <neap/creation.h>
#include <neap/special.h>
#include <neap/transforms.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "trace/library/special_common.h"
#include "trace/library/special_quadrature.h"

namespace neap {

using namespace tracing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Array front_value(const Array& a, const Array& x) {
  // Below 10 the square of a product in range; farther out than here it is 0.
  const Array c = minimum(x, x.dtype() == DType::f64 ? 1500.0 : 200.0), near = a < 10;
  const Array root = pow(c, 0.5 * a) * exp(-0.5 * c), small = root * (root * reciprocal_gamma_plus_1(a));
  const Array b = where(near, 10, a);
  const Array large = exp(-divergence(b, x)) * exp(-stirling_rest(b)) / sqrt(2 * std::numbers::pi * b);
  return where(isinf(x), 0, where(near, small, large));
}

// Returns log(x) - digamma(a + 1), which for a large a is a difference of equals but for its series (DLMF 5.11.2).
Array log_less_digamma(const Array& a, const Array& x) {
  constexpr double kTerms[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const Array large = a >= 10, b = where(large, a, 10), r = 1 / square(b);
  const Array rest = 0.5 / b - r * horner(r, std::span<const double>(kTerms, x.dtype() == DType::f64 ? 7 : 3));
  return where(large, log_ratio(x, b) - rest, log(x) - digamma(where(large, 1, a + 1)));
}

// Returns x^a exp(-x) / gamma(a + 1).
Array front(const Array& a, const Array& x) {
  return custom_jvp(
      front_value,
      [](const Array& at, const Array& y, const Array& da, const Array& dy) {
        const Array f = front(at, y), none = f == 0, steep = at >= 1;
        const Array by_a = where(none, 0, f * log_less_digamma(at, where(none, 1, y)));
        // a / x - 1 times it; at x = 0 by the front of a - 1, which is finite.
        const Array safe = where(steep, 1, y), below = front(where(steep, at - 1, 0), y);
        return da * by_a + dy * (where(steep, below, f * at / safe) - f);
      },
      user_line({}))(a, x);
}

// Returns P where `below`, which needs x <= a + 1; else Q, for x >= a or x >= 0.4.
Array either(const Array& a, const Array& x, const Array& below) {
  const Array side = where(below, -1, ones_like(x));
  const Array integral = tail_integral(where(below, a + 5, a), x, side);
  Array sum = 1 + x * integral;
  for (int k = 4; k > 0; --k) sum = 1 + x / (a + k) * sum;
  return front(a, x) * where(below, sum, a * integral);
}

// Returns Q of a < 1 and x < 0.4, which is small where a is: 1 - x^a / gamma(a + 1) is had without a loss, and then the
// rest of the series for P (8.7.1).
Array upper_near_0(const Array& a, const Array& x) {
  const Array exponent = a * log(x) - a * (a - 1) * chebyshev(kLogGamma, a);
  Array sum = zeros_like(x);
  double sign_over_factorial[16] = {1};
  for (int n = 1; n < 16; ++n) sign_over_factorial[n] = -sign_over_factorial[n - 1] / n;
  for (int n = x.dtype() == DType::f64 ? 15 : 9; n > 0; --n) sum = x * (sum + sign_over_factorial[n] / (a + n));
  return -expm1(exponent) - exp(exponent) * (a * sum);
}

// Returns `value` where both are in the domain and finite, else the limits.
Array with_edges(const Array& a, const Array& x, const Array& value, double at_0, double at_infinity) {
  const Array invalid = !((a >= 0) & (x >= 0)) | ((a == 0) & (x == 0)) | (isinf(a) & isinf(x));
  const Array first = (x == 0) | isinf(a), last = (a == 0) | isinf(x);
  return where(invalid, kNan, where(first, at_0, where(last, at_infinity, value)));
}

Array inside(const Array& x) { return where((x > 0) & isfinite(x), x, 1); }

Array lower_value(const Array& a0, const Array& x0) {
  const Array a = inside(a0), x = inside(x0), below = x <= a + 1;
  const Array part = either(a, x, below);
  return with_edges(a0, x0, where(below, minimum(part, 1), 1 - part), 0, 1);
}

Array upper_value(const Array& a0, const Array& x0) {
  const Array a = inside(a0), x = inside(x0), small = (a < 1) & (x < 0.4), below = (a >= 1) & (x <= a);
  const Array part = either(a, where(small, 1, x), below),
              near = upper_near_0(where(small, a, 0.5), where(small, x, 0.4));
  return with_edges(a0, x0, where(small, near, where(below, 1 - part, part)), 1, 0);
}

// Returns dP/da in the direction da, 0 at the edges.
Array moved_in_a(const Array& a0, const Array& x0, const Array& da) {
  const Array valid = (a0 > 0) & (x0 > 0) & isfinite(a0) & isfinite(x0);
  const Array a = where(valid, a0, 1), x = where(valid, x0, 1), below = x <= a + 1;
  const Array slope = jvp([&](const Array& at) { return either(at, x, below); }, a, where(valid, da, 0)).tangent;
  return where(below, slope, -slope);
}

// Returns dP/dx, the density of the gamma distribution.
Array density(const Array& a, const Array& x) {
  const Array steep = a >= 1, positive = x > 0, far = isinf(a) | isinf(x);
  const Array by_steep = front(where(steep & !far, a - 1, 0), where(far, 1, x));
  const Array other = where(steep | far | !positive, 1, x), by_other = front(where(steep, 0, a), other) * a / other;
  const Array inside = where(steep, by_steep, where(positive, by_other, std::numeric_limits<double>::infinity()));
  return where((a < 0) | (x < 0), kNan, where(far, 0, inside));
}

Array lower_of(const Array& a, const Array& x) {
  return custom_jvp(
      lower_value,
      [](const Array& at, const Array& y, const Array& da, const Array& dy) {
        return moved_in_a(at, y, da) + dy * density(at, y);
      },
      user_line({}))(a, x);
}
Array upper_of(const Array& a, const Array& x) {
  return custom_jvp(
      upper_value,
      [](const Array& at, const Array& y, const Array& da, const Array& dy) {
        return -(moved_in_a(at, y, da) + dy * density(at, y));
      },
      user_line({}))(a, x);
}

}  // namespace

Array gammainc(const Operand& a, const Operand& x) {
  const AtLine line(a.loc());
  return of_reals("gammainc", {&a, &x}, [](const Arrays& in) { return lower_of(in[0], in[1]); });
}
Array gammaincc(const Operand& a, const Operand& x) {
  const AtLine line(a.loc());
  return of_reals("gammaincc", {&a, &x}, [](const Arrays& in) { return upper_of(in[0], in[1]); });
}

}  // namespace neap
