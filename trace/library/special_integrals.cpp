// Exponential integrals and the dilogarithm (Abramowitz and Stegun 5.1, 27.7), by Chebyshev's series.
#include <neap/creation.h>
#include <neap/special.h>
#include <neap/transforms.h>

#include <limits>
#include <numbers>

#include "trace/library/special_common.h"
#include "trace/library/special_quadrature.h"

namespace neap {

using namespace tracing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Returns E1(x) of x > 0.
Array exp1_positive(const Array& x) {
  const Array r = 1 / x, scaled = where(x <= 4, chebyshev(kExp1Middle, r), chebyshev(kExp1Far, r));
  return where(x <= 1, chebyshev(kExp1Near, x) - log(x), scaled * (exp(-x) * r));
}

Array exp1_of(const Array& x) {
  return custom_jvp([](const Array& a) { return where(a < 0, kNan, where(a == kInfinity, 0, exp1_positive(a))); },
                    [](const Array& a, const Array& t) { return -t * exp(-a) / a; }, user_line({}))(x);
}

// Returns Ei(x) of x > 0: up to 6 by its distance from the root, so that it has its digits there.
Array expi_positive(const Array& x) {
  // In two parts: the first is one of f32, too.
  constexpr double kRoot = static_cast<float>(kExpiRoot);
  const Array off = (x - kRoot) - (kExpiRoot - kRoot + kExpiRootRest), near = abs(off) < 0.15;
  const Array ratio = where(near, log1p(off / kExpiRoot), log(x / kExpiRoot));
  const Array low = ratio + off * (exp(0.5 * x) * chebyshev(kExpi1, x));
  const Array r = 1 / x;
  const Array scaled = where(x <= 12, chebyshev(kExpi2, r), where(x <= 24, chebyshev(kExpi3, r), chebyshev(kExpi4, r)));
  const Array half = exp(0.5 * x);
  return where(x <= 6, low, where(x == kInfinity, x, half * (half * (scaled * r))));
}

Array expi_of(const Array& x) {
  return custom_jvp(
      [](const Array& a) { return where(a > 0, expi_positive(a), where(a == -kInfinity, -0.0, -exp1_positive(-a))); },
      [](const Array& a, const Array& t) { return t * exp(a) / a; }, user_line({}))(x);
}

// Returns E_n(x) of x in (0, 1/2) and n >= 1 by its power series (5.1.12).
Array expn_series(const Array& n, const Array& x) {
  const int terms = x.dtype() == DType::f64 ? 16 : 9;
  Array sum = zeros_like(x), power = ones_like(x), at_order = zeros_like(x);
  double harmonic = -std::numbers::egamma;  // digamma(m + 1)
  for (int m = 0; m < terms; ++m) {
    const Array own = n == m + 1;  // the term that has a logarithm
    sum = sum - where(own, 0, power / where(own, 1, m + 1 - n));
    at_order = where(own, power * (harmonic - log(x)), at_order);
    power = power * x * (-1.0 / (m + 1));
    harmonic += 1.0 / (m + 1);
  }
  return sum + at_order;
}

// E_n(x) is exp(-x) times the integral of exp(-x (e^v - 1) - (n - 1) v).
Array expn_value(const Array& n, const Array& x) {
  const Array series = expn_series(n, x), far = maximum(x, 0.5);
  const Array quadrature = exp(-far) * tail_integral(1 - n, far, ones_like(far));
  const Array positive =
      where(n == 0, exp(-x) / x, where(n == 1, exp1_positive(x), where(x < 0.5, series, quadrature)));
  const Array at_zero = where(n <= 1, kInfinity, 1 / (n - 1));
  const Array valid = (n >= 0) & (n == floor(n)) & (x >= 0);
  return where(valid, where(x == 0, at_zero, where(x == kInfinity, 0, positive)), kNan);
}

Array expn_of(const Array& n, const Array& x) {
  return custom_jvp(
      expn_value,
      [](const Array& m, const Array& a, const Array&, const Array& da) {
        const Array first = m < 1;
        const Array below = expn_of(where(first, 1, m - 1), a);
        return -da * where(first, exp(-a) * (1 / a + 1 / square(a)), below);
      },
      user_line({}))(n, x);
}

// Returns spence(1 + x) for |x| <= 1/2.
Array spence_near_1(const Array& x) { return x * chebyshev(kSpence, x); }

Array spence_value(const Array& x) {
  const Array inverted = x > 1.5, y = where(inverted, 1 / x, x);  // 27.7.5: spence(1 / x)
  const Array reflected = y < 0.5;                                // 27.7.3: spence(1 - x)
  // The distance of y from 1, exactly.
  const Array off = where(inverted, (1 - x) / x, x - 1);
  const Array central = spence_near_1(where(reflected, -y, off));
  const Array logarithms = where(y == 0, 0, log(y) * log1p(-y));
  const Array value = where(reflected, std::numbers::pi * std::numbers::pi / 6 - logarithms - central, central);
  return where(x < 0, kNan, where(x == 1, 0, where(inverted, -0.5 * square(log(x)) - value, value)));
}

// Returns log(x) / (x - 1), a series at 1.
Array slope_of_spence(const Array& x) {
  const Array off = x - 1, near = abs(off) < 0.1, d = where(near, off, 0);
  Array series = zeros_like(x);
  for (int k = x.dtype() == DType::f64 ? 20 : 9; k-- > 0;) series = 1.0 / (k + 1) - d * series;
  return where(near, series, log(where(near, 2, x)) / where(near, 1, off));
}

Array spence_of(const Array& x) {
  return custom_jvp(
      spence_value, [](const Array& a, const Array& t) { return -t * slope_of_spence(a); }, user_line({}))(x);
}

}  // namespace

Array expi(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("expi", x, expi_of);
}
Array exp1(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("exp1", x, exp1_of);
}
Array expn(const Operand& n, const Operand& x) {
  const AtLine line(n.loc());
  return of_reals("expn", {&n, &x}, [](const Arrays& in) { return expn_of(stop_gradient(in[0]), in[1]); });
}
Array spence(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("spence", x, spence_of);
}

}  // namespace neap
