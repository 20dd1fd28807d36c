// Hurwitz' zeta function and the polygamma functions.
#include <neap/creation.h>
#include <neap/special.h>
#include <neap/transforms.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "trace/library/special_common.h"

namespace neap {

using namespace tracing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns x^-s, of positive x unless it says more; with a factor its product with that, which may be in range where the
// power is not.
using Power = std::function<Array(const Array& x, bool any_sign)>;

Power power_of(const Array& s, const Array* factor = nullptr) {
  return [s, factor](const Array& x, bool any_sign) {
    if (!factor) return pow(x, -s);
    if (any_sign) return pow(x, -s) * *factor;
    const Array root = pow(x, -0.5 * s);
    return root * (root * *factor);
  };
}

// Does so for a small number s, by products. Each only grows or only falls, so that none is out of range but the last.
constexpr int kMostProducts = 6;
Power power_of(int s, double factor) {
  return [s, factor](const Array& x, bool) {
    const Array r = 1 / x;
    Array product = factor * r;
    for (int i = 1; i < s; ++i) product = product * r;
    return product;
  };
}

// Powers are x^-s and, for w alone, x^(1 - s), which is in range longer than w * w^-s.
struct Powers {
  Power terms, integral;
};
Powers powers_of(const Array& s, const Array* factor = nullptr) {
  return {power_of(s, factor), power_of(s - 1, factor)};
}
Powers powers_of(int s, double factor) { return {power_of(s, factor), power_of(s - 1, factor)}; }

// Returns the sum of (q + k)^-s over k >= 0, for s > 1 and q > 0, by the formula of Euler and Maclaurin (DLMF 25.11.9
// with n = 0): the first terms one by one, then those of Bernoulli's numbers.
Array zeta_positive(const Array& s, const Array& q, const Powers& powers) {
  const bool is_wide = s.dtype() == DType::f64;
  const int first = is_wide ? 10 : 6, terms = is_wide ? 12 : 5;
  // B(2k) / (2k)! divided by the one before.
  constexpr double kRatios[] = {
      0.0833333333333333333,  -0.0166666666666666667, -0.0238095238095238095, -0.025,
      -0.0252525252525252525, -0.0253113553113553114, -0.0253256150506512301, -0.0253291316526610644,
      -0.0253300055040374875, -0.0253302233818339319, -0.0253302777864829212, -0.0253302913804567963};
  Array sum = powers.terms(q, false);
  for (int k = 1; k < first; ++k) sum = sum + powers.terms(q + k, false);
  // Where s is large beside q these terms are nothing beside the first, and the series would leave the dtype's range.
  const Array w = q + first, r = 1 / w, t = minimum(s, 30 * w);
  Array series = zeros_like(t + q);
  for (int k = terms - 1; k > 0; --k) series = (t + (2 * k - 1)) * r * ((t + 2 * k) * r) * kRatios[k] * (1 + series);
  return sum + powers.integral(w, false) * (1 / (s - 1) + r * (0.5 + kRatios[0] * (t * r) * (1 + series)));
}

// Returns zeta, where s > 1.
Array zeta_value(const Array& s, const Array& q, const Powers& powers) {
  const Array positive = q > 0, pole = !positive & (q == floor(q)), odd = (s - 2 * floor(s * 0.5)) != 0;
  // For q < 0 and an integer s: the terms about the pole nearest to q by their distances from it.
  const Array p = where(positive | pole | !isfinite(q), -0.25, q), r = p - rint(p);
  const Array after = zeta_positive(s, where(positive, q, 1 + r), powers);
  const Array before = zeta_positive(s, 1 - r, powers) - zeta_positive(s, 1 - p, powers);
  const Array left = after + powers.terms(r, true) + where(odd, -before, before);
  const Array beyond = where(pole, kInfinity, where((s == floor(s)) & isfinite(q), left, kNan));
  return where(isnan(q), q, where(q == kInfinity, 0, where(positive, after, beyond)));
}

Array zeta_of(const Array& s, const Array& q) {
  return custom_jvp(
      [](const Array& at, const Array& p) {
        const Array convergent = at > 1, safe = where(convergent, at, 2);
        return where(convergent, zeta_value(safe, p, powers_of(safe)), where(at == 1, kInfinity, kNan));
      },
      [](const Array& at, const Array& p, const Array& ds, const Array& dp) {
        const Array smooth = (p > 0) & (at > 1) & isfinite(p) & isfinite(at) & isfinite(pow(p, -at));
        const Array safe_s = where(smooth, at, 2), safe_p = where(smooth, p, 1);
        const Array in_s =
            jvp([&](const Array& x) { return zeta_positive(x, safe_p, powers_of(x)); }, safe_s, where(smooth, ds, 0))
                .tangent;
        return in_s - dp * at * zeta_of(at + 1, p);
      },
      user_line({}))(s, q);
}

// Does so for a number s, which takes no power where it is small.
Array zeta_of(int s, const Array& q) {
  if (s > kMostProducts) return zeta_of(full({}, s, q.dtype()), q);
  return custom_jvp([s](const Array& p) { return zeta_value(full({}, s, p.dtype()), p, powers_of(s, 1)); },
                    [s](const Array& p, const Array& dp) { return dp * (-s * zeta_of(s + 1, p)); }, user_line({}))(q);
}

// Returns n where it is a whole number in [low, high], of C++, beside a real array.
std::optional<int> small_number(const Operand& n, const Operand& x, int low, int high) {
  const double value = n.is_scalar() && !is_complex(n.dtype()) && !is_complex(x.dtype()) ? n.real() : kNan;
  return value >= low && value <= high && value == std::floor(value) ? std::optional(static_cast<int>(value))
                                                                     : std::nullopt;
}

Array polygamma_of(const Array& n, const Array& x) {
  return custom_jvp(
      [](const Array& order, const Array& a) {
        const Array valid = (order >= 0) & (order == floor(order)), first = order == 0;
        const Array safe = where(valid & !first, order, 1), odd = (safe - 2 * floor(safe * 0.5)) != 0;
        const Array factor = gamma_function(safe + 1), size = zeta_value(safe + 1, a, powers_of(safe + 1, &factor));
        return where(valid, where(first, digamma(a), where(odd, size, -size)), kNan);
      },
      [](const Array& order, const Array& a, const Array&, const Array& da) { return da * polygamma_of(order + 1, a); },
      user_line({}))(n, x);
}

// Does so for a number n, which takes no power where it is small.
Array polygamma_of(int n, const Array& x) {
  if (n == 0) return digamma(x);
  if (n >= kMostProducts) return polygamma_of(full({}, n, x.dtype()), x);
  return custom_jvp(
      [n](const Array& a) {
        const Array size = zeta_value(full({}, n + 1, a.dtype()), a, powers_of(n + 1, std::tgamma(n + 1)));
        return n % 2 ? size : -size;
      },
      [n](const Array& a, const Array& da) { return da * polygamma_of(n + 1, a); }, user_line({}))(x);
}

}  // namespace

Array zeta(const Operand& x, const Operand& q) {
  const AtLine line(x.loc());
  if (const std::optional<int> s = small_number(x, q, 2, kMostProducts))
    return in_floats("zeta " + std::to_string(*s), {&q}, [s](const Arrays& in) { return zeta_of(*s, in[0]); });
  return of_reals("zeta", {&x, &q}, [](const Arrays& in) { return zeta_of(in[0], in[1]); });
}
Array polygamma(const Operand& n, const Operand& x) {
  const AtLine line(n.loc());
  if (const std::optional<int> order = small_number(n, x, 0, kMostProducts - 1))
    return in_floats("polygamma " + std::to_string(*order), {&x},
                     [order](const Arrays& in) { return polygamma_of(*order, in[0]); });
  return of_reals("polygamma", {&n, &x}, [](const Arrays& in) { return polygamma_of(stop_gradient(in[0]), in[1]); });
}

}  // namespace neap
