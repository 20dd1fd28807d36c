// The incomplete beta function: as in special_gammainc.cpp, five terms of the series (DLMF 8.17.22) and an integral
// for a + 5, over the logarithm of t / (1 - t), in which the integrand is analytic.
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
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The rest of three Stirling's series, as in log_beta.
Array stirling_difference(const Array& a, const Array& b) {
  return stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b);
}

// Returns log(x) of x = 1 - y.
Array log_of(const Array& x, const Array& y) {
  const Array small = x < 0.5;
  return where(small, log(where(small, x, 0.5)), log1p(where(small, -0.5, -y)));
}

// Returns 1 - x - y, which the larger of the two has lost.
Array lost_of_1(const Array& x, const Array& y) { return (1 - maximum(x, y)) - minimum(x, y); }

Array front_value(const Array& a, const Array& b, const Array& x, const Array& y) {
  const double two_pi = 2 * std::numbers::pi;
  const Array log_x = log_of(x, y), log_y = log_of(y, x), low = minimum(a, b), high = maximum(a, b);

  // Both from 10 on: the exponent is 0 at the mode.
  const Array p = where(low >= 10, a, 10), q = where(low >= 10, b, 10), n = p + q;
  // Far from where they are 0, the divergences are as steep as n is large: with what rounding n x and n (1 - x) has
  // lost.
  const Array nx = n * x, ny = n * y, rest = lost_of_1(x, y);
  const Array lost_x = fma(n, x, -nx) + where(x < 0.5, 0, n * rest);
  const Array lost_y = fma(n, y, -ny) + where(x < 0.5, n * rest, 0);
  const Array lost = lost_x * ((nx - p) / nx) + lost_y * ((ny - q) / ny);
  const Array exponent = divergence(p, nx) + divergence(q, ny) + lost;
  const Array both = exp(stirling_difference(p, q) - exponent) * sqrt(q / n / (two_pi * p));

  // One of them: (b x)^a exp(b log(1 - x)) / gamma(a) and a factor near 1, or the other way round.
  const Array first = a <= b, s = where(low < 10, low, 1), l = where(high >= 10, high, 10);
  const Array of_low = where(first, x, y), log_of_high = where(first, log_y, log_x);
  const Array scaled = minimum(l * of_low, x.dtype() == DType::f64 ? 1500.0 : 200.0);  // beyond, the result is 0
  const Array ratio = exp((l + s - 0.5) * log1p(s / l) - s + (stirling_rest(l + s) - stirling_rest(l)));
  const Array root = pow(scaled, 0.5 * s) * exp(0.5 * l * log_of_high);
  const Array one = root * (root * (where(first, 1, s / a) * reciprocal_gamma_plus_1(s))) * ratio;

  // None.
  const Array c = where(high < 10, a, 1), d = where(high < 10, b, 1);
  const Array half = x < 0.5, smaller = where(half, x, y), c_or_d = where(half, c, d);
  const Array powers = pow(smaller, c_or_d) * exp(where(half, d * log_y, c * log_x)) * gamma_function(c + d);
  const Array none = d * (powers * reciprocal_gamma_plus_1(c) * reciprocal_gamma_plus_1(d));
  return where(low >= 10, both, where(high >= 10, one, none));
}

// Returns x^a y^b / (a B(a, b)), for 0 < x < 1 and y = 1 - x: the larger of the two may be rounded.
Array front(const Array& a, const Array& b, const Array& x, const Array& y) {
  return custom_jvp(
      front_value,
      [](const Array& p, const Array& q, const Array& at, const Array& rest, const Array& dp, const Array& dq,
         const Array& dt, const Array& dr) {
        const Array by_p = log_of(at, rest) + digamma_difference(p + 1, q - 1);
        const Array by_q = log_of(rest, at) + digamma_difference(q, p);
        return front(p, q, at, rest) * (dp * by_p + dq * by_q + dt * (p / at) + dr * (q / rest));
      },
      user_line({}))(a, b, x, y);
}

// Returns x + log(1 - x) for |x| < 0.4, negative: with w = x / (2 - x) it is -(x w + 2 (w^3 / 3 + w^5 / 5 + ...)).
Array log_rest(const Array& x) {
  const Array w = x / (2 - x), w2 = square(w);
  Array series = zeros_like(x);
  for (int k = x.dtype() == DType::f64 ? 12 : 5; k-- > 0;) series = series * w2 + 2.0 / (2 * k + 3);
  return -(x * w + w * w2 * series);
}

// Returns the integral over v > 0 of (t / x)^a ((1 - t) / (1 - x))^b, where the logarithm of t / (1 - t) is v less than
// that of x / (1 - x).
//
// Its own logarithm is -rate v + (a + b) r(v), where r, of second order, is written in the smaller of x and 1 - x: with
// m that and s = -v or v, r = m s - log(1 + m (exp(s) - 1)).
Array tail(const Array& a, const Array& b, const Array& x, const Array& y) {
  const double fall = depth(x.dtype());
  const Array total = a + b;
  // A difference of equals at the mean, with what rounding has lost.
  const Array p = stop_gradient(a), q = stop_gradient(b);
  const Array lost = fma(p, y, -(p * y)) - fma(q, x, -(q * x)) + where(x < 0.5, p, -q) * lost_of_1(x, y);
  const Array rate = (a * y - b * x) + lost;
  const Array low = x <= 0.5, m = where(low, x, y), side = where(low, -1.0, ones_like(x));
  const auto bend = [&](const Array& v, const Array& near) {
    const Array s = side * v, grown = expm1(s), z = m * grown;
    const Array z_near = where(near, z, 0), s_near = where(near, s, 0);
    // Both of second order: log(1 + z) - z, and exp(s) - 1 - s.
    return where(near, -log_rest(-z_near) - m * exp_rest(s_near, near), m * s - log1p(z));
  };
  const Array fixed_rate = stop_gradient(rate), fixed_total = stop_gradient(total);
  Array end = 2 * fall / (fixed_rate + hypot(fixed_rate, sqrt(2 * fall * fixed_total * (x * y))));
  for (int step = 0; step < 3; ++step) {
    const Array t = x / (x + y * exp(end));
    const Array fallen = fixed_rate * end - fixed_total * bend(end, end < 0.4);
    end = end + (fall - fallen) / (fixed_rate + fixed_total * (x - t));
  }
  end = stop_gradient(end);
  return end * gauss_legendre(end.shape(), x.dtype(), [&](const Array& at) {
           const Array v = end * at;
           return exp(total * bend(v, end < 0.4 / at) - rate * v);
         });
}

// Returns I_x(a, b), where x is not above the mean by much.
Array lower(const Array& a, const Array& b, const Array& x, const Array& y) {
  Array sum = 1 + (a + b + 4) * x * tail(a + 5, b, x, y);
  for (int k = 4; k > 0; --k) sum = 1 + (a + b + (k - 1)) * x / (a + k) * sum;
  return front(a, b, x, y) * sum;
}

// Returns whether I_x(a, b) is had from I_(1 - x)(b, a): not where it may be small.
Array turned(const Array& a, const Array& b, const Array& x) {
  return (x > (a + 1) / (a + b + 2)) & !((b < 1) & (x < 0.7));
}

// Returns I_x(a, b) or, where `turn`, I_(1 - x)(b, a).
Array either(const Array& a, const Array& b, const Array& x, const Array& turn) {
  const Array y = 1 - x;
  return lower(where(turn, b, a), where(turn, a, b), where(turn, y, x), where(turn, x, y));
}

Array betainc_value(const Array& a0, const Array& b0, const Array& x0) {
  const Array inside = (a0 > 0) & (b0 > 0) & isfinite(a0) & isfinite(b0) & (x0 > 0) & (x0 < 1);
  const Array a = where(inside, a0, 1), b = where(inside, b0, 1), x = where(inside, x0, 0.5);
  const Array turn = turned(a, b, x), part = minimum(either(a, b, x, turn), 1);
  const Array valid =
      (a0 >= 0) & (b0 >= 0) & (x0 >= 0) & (x0 <= 1) & !((a0 == 0) & (b0 == 0)) & !(isinf(a0) & isinf(b0));
  const Array zero = (x0 == 0) | (b0 == 0) | isinf(a0), one = (x0 == 1) | (a0 == 0) | isinf(b0);
  const Array edge = where(!valid, kNan, where(x0 == 0, 0, where(x0 == 1, 1, where(zero, 0, where(one, 1, kNan)))));
  return where(inside, where(turn, 1 - part, part), edge);
}

// Returns the derivative in the directions da and db, 0 at the edges.
Array moved(const Array& a0, const Array& b0, const Array& x0, const Array& da, const Array& db) {
  const Array inside = (a0 > 0) & (b0 > 0) & isfinite(a0) & isfinite(b0) & (x0 > 0) & (x0 < 1);
  const Array a = where(inside, a0, 1), b = where(inside, b0, 1), x = where(inside, x0, 0.5), turn = turned(a, b, x);
  const Array slope = jvp([&](const Array& p, const Array& q) { return either(p, q, x, turn); }, std::tuple(a, b),
                          std::tuple(where(inside, da, 0), where(inside, db, 0)))
                          .tangent;
  return where(turn, -slope, slope);
}

// Returns the density of the beta distribution.
Array density(const Array& a, const Array& b, const Array& x) {
  const Array inside = (a > 0) & (b > 0) & isfinite(a) & isfinite(b) & (x > 0) & (x < 1), p = where(inside, a, 1),
              q = where(inside, b, 1), at = where(inside, x, 0.5);
  const Array ends = where(x == 0, where(a < 1, kInfinity, where(a == 1, b, 0)),
                           where(x == 1, where(b < 1, kInfinity, where(b == 1, a, 0)), 0));
  const Array valid = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1);
  return where(inside, p * front(p, q, at, 1 - at) / (at * (1 - at)), where(valid, ends, kNan));
}

Array betainc_of(const Array& a, const Array& b, const Array& x) {
  return custom_jvp(
      betainc_value,
      [](const Array& p, const Array& q, const Array& at, const Array& dp, const Array& dq, const Array& dt) {
        return moved(p, q, at, dp, dq) + dt * density(p, q, at);
      },
      user_line({}))(a, b, x);
}

}  // namespace

Array betainc(const Operand& a, const Operand& b, const Operand& x) {
  const AtLine line(a.loc());
  return of_reals("betainc", {&a, &b, &x}, [](const Arrays& in) { return betainc_of(in[0], in[1], in[2]); });
}

}  // namespace neap
