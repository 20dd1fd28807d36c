// Hurwitz' zeta function and the polygamma functions.
#include <neap/creation.h>
#include <neap/special.h>
#include <neap/transforms.h>

#include <limits>

#include "trace/library/special_common.h"

namespace neap {

using namespace tracing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the sum of (q + k)^-s over k >= 0, for s > 1 and q > 0, by the formula of Euler and Maclaurin (DLMF 25.11.9
// with n = 0): the first terms one by one, then those of Bernoulli's numbers. With a factor its product with that,
// which may be in range where the sum is not.
Array zeta_positive(const Array& s, const Array& q, const Array* factor = nullptr) {
  const bool is_wide = s.dtype() == DType::f64;
  const int first = is_wide ? 10 : 6, terms = is_wide ? 12 : 5;
  // B(2k) / (2k)! divided by the one before.
  constexpr double kRatios[] = {
      0.0833333333333333333,  -0.0166666666666666667, -0.0238095238095238095, -0.025,
      -0.0252525252525252525, -0.0253113553113553114, -0.0253256150506512301, -0.0253291316526610644,
      -0.0253300055040374875, -0.0253302233818339319, -0.0253302777864829212, -0.0253302913804567963};
  const auto power = [&](const Array& base) {
    if (!factor) return pow(base, -s);
    const Array root = pow(base, -0.5 * s);
    return root * (root * *factor);
  };
  Array sum = power(q);
  for (int k = 1; k < first; ++k) sum = sum + power(q + k);
  // Where s is large beside q these terms are nothing beside the first, and the series would leave the dtype's range.
  const Array w = q + first, r = 1 / w, t = minimum(s, 30 * w), r2 = square(r);
  Array series = zeros_like(t + q);
  for (int k = terms - 1; k > 0; --k) series = (t + (2 * k - 1)) * r * ((t + 2 * k) * r) * kRatios[k] * (1 + series);
  return sum + power(w) * (w / (s - 1) + 0.5 + kRatios[0] * (t * r) * (1 + series));
}

Array zeta_value(const Array& s, const Array& q, const Array* factor = nullptr) {
  const Array positive = q > 0, pole = !positive & (q == floor(q)), convergent = s > 1, t = where(convergent, s, 2);
  // For q < 0 and an integer s: the terms about the pole nearest to q by their distances from it.
  const Array p = where(positive | pole | !isfinite(q), -0.25, q), r = p - rint(p), odd = (t - 2 * floor(t * 0.5)) != 0;
  const Array after = zeta_positive(t, where(positive, q, 1 + r), factor);
  const Array before = zeta_positive(t, 1 - r, factor) - zeta_positive(t, 1 - p, factor);
  const Array nearest = factor ? pow(r, -t) * *factor : pow(r, -t);
  const Array left = after + nearest + where(odd, -before, before);
  const Array beyond = where(pole, kInfinity, where((s == floor(s)) & isfinite(q), left, kNan));
  const Array value = where(isnan(q), q, where(q == kInfinity, 0, where(positive, after, beyond)));
  return where(convergent, value, where(s == 1, kInfinity, kNan));
}

Array zeta_of(const Array& s, const Array& q) {
  return custom_jvp(
      [](const Array& at, const Array& p) { return zeta_value(at, p); },
      [](const Array& at, const Array& p, const Array& ds, const Array& dp) {
        const Array smooth = (p > 0) & (at > 1) & isfinite(p) & isfinite(at) & isfinite(pow(p, -at));
        const Array safe_s = where(smooth, at, 2), safe_p = where(smooth, p, 1);
        const Array in_s =
            jvp([&](const Array& x) { return zeta_positive(x, safe_p); }, safe_s, where(smooth, ds, 0)).tangent;
        return in_s - dp * at * zeta_of(at + 1, p);
      },
      user_line({}))(s, q);
}

Array polygamma_of(const Array& n, const Array& x) {
  return custom_jvp(
      [](const Array& order, const Array& a) {
        const Array valid = (order >= 0) & (order == floor(order)), first = order == 0;
        const Array safe = where(valid & !first, order, 1), odd = (safe - 2 * floor(safe * 0.5)) != 0;
        const Array factor = gamma_function(safe + 1), size = zeta_value(safe + 1, a, &factor);
        return where(valid, where(first, digamma(a), where(odd, size, -size)), kNan);
      },
      [](const Array& order, const Array& a, const Array&, const Array& da) { return da * polygamma_of(order + 1, a); },
      user_line({}))(n, x);
}

}  // namespace

Array zeta(const Operand& x, const Operand& q) {
  const AtLine line(x.loc());
  return of_reals("zeta", {&x, &q}, [](const Arrays& in) { return zeta_of(in[0], in[1]); });
}
Array polygamma(const Operand& n, const Operand& x) {
  const AtLine line(n.loc());
  return of_reals("polygamma", {&n, &x}, [](const Arrays& in) { return polygamma_of(stop_gradient(in[0]), in[1]); });
}

}  // namespace neap
