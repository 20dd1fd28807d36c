// Special functions of numpy.h that keep their digits where the formula by which they are known does not.
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/transforms.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns f of both in the floating dtype that they promote to, computed in wide(), as one executable outside a trace.
Array in_floats(const std::string& key, const Operand& x, const Operand& y,
                const std::function<Array(const Array&, const Array&)>& f) {
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = to_float_dtype(common_dtype(operands)), computed = wide(dtype);
  return composite(key, {x.as(dtype), y.as(dtype)},
                   [&](const Arrays& in) { return f(in[0].astype(computed), in[1].astype(computed)).astype(dtype); });
}

// Returns x * log(x), 0 at 0, where its derivative is log(0).
Array xlogx(const Array& x) {
  return custom_jvp([](const Array& a) { return where(a == 0, 0, a * log(where(a == 0, 1, a))); },
                    [](const Array& a, const Array& da) { return da * (log(a) + 1); }, user_line({}))(x);
}

// Returns log(x / y) of positive numbers. Near 1 the quotient would lose digits of its distance from 1, and it may be
// out of range.
Array log_ratio(const Array& x, const Array& y) {
  return custom_jvp(
      [](const Array& a, const Array& b) {
        const Array off = (a - b) / b, near = abs(off) < 0.5, ratio = a / b;
        const double least = a.dtype() == DType::f64 ? std::numeric_limits<double>::min() : 0x1p-126;
        const Array normal = (ratio >= least) & isfinite(ratio);
        const Array far = log(where(normal, ratio, a)) - where(normal, 0, log(b));
        return where(near, log1p(where(near, off, 0)), far);
      },
      [](const Array& a, const Array& b, const Array& da, const Array& db) { return da / a - db / b; },
      user_line({}))(x, y);
}

// Returns x * log(x / y) of positive numbers.
Array weighted_log_ratio(const Array& x, const Array& y) {
  return custom_jvp([](const Array& a, const Array& b) { return a * log_ratio(a, b); },
                    [](const Array& a, const Array& b, const Array& da, const Array& db) {
                      return da * (log_ratio(a, b) + 1) - db * (a / b);
                    },
                    user_line({}))(x, y);
}

// Returns x * log(x / y) - x + y of positive numbers. Near x = y that is a difference of equals: with s = (x - y) / (x
// + y) the logarithm is 2 (s + s^3 / 3 + s^5 / 5 + ...), whose first term cancels exactly.
Array divergence(const Array& x, const Array& y) {
  return custom_jvp(
      [](const Array& a, const Array& b) {
        const Array off = (a - b) / b, ratio = off / (off + 2);  // a + b may be out of range
        const Array near = abs(ratio) < 0.2, s = where(near, ratio, 0), s2 = square(s);
        Array series = zeros_like(a);
        for (int k = a.dtype() == DType::f64 ? 11 : 5; k-- > 0;) series = series * s2 + 1.0 / (2 * k + 3);
        const Array by_series = 2 * b / (1 - s) * (s2 * (1 + (1 + s) * s * series));
        return where(near, by_series, a * log_ratio(a, b) - a + b);
      },
      [](const Array& a, const Array& b, const Array& da, const Array& db) {
        return da * log_ratio(a, b) + db * ((b - a) / b);
      },
      user_line({}))(x, y);
}

// Returns what a relative entropy is outside its domain.
Array infinite_or_nan(const Array& a, const Array& b) { return where(isnan(a) | isnan(b), a + b, kInfinity); }

// Returns log(gamma(x)) less Stirling's (x - 1/2) log(x) - x + log(2 pi) / 2, for x >= 10: the terms B(2k) / (2k (2k -
// 1) x^(2k - 1)).
Array stirling_rest(const Array& x) {
  constexpr double kTerms[] = {1.0 / 12,   -1.0 / 360,        1.0 / 1260, -1.0 / 1680,
                               1.0 / 1188, -691.0 / 360360.0, 1.0 / 156,  -3617.0 / 122400};
  const Array r = reciprocal(x), r2 = square(r);
  Array series = zeros_like(x);
  for (int k = x.dtype() == DType::f64 ? 8 : 4; k-- > 0;) series = series * r2 + kTerms[k];
  return r * series;
}

// Didonato and Morris (1992), ACM TOMS 708: where b >= 10, the difference of the logarithms of gamma(b) and gamma(a +
// b) is that of their Stirling's series, term by term. Symmetric; by select, not by minimum, so that derivatives are
// right where x = y.
Array log_beta(const Array& x, const Array& y) {
  // Beside infinity the formulas would be inf - inf, and their derivatives NaN in one mode of differentiation alone.
  const Array swap = x > y, low = where(swap, y, x), high = where(swap, x, y);
  const Array endless = (low > 0) & (high == kInfinity);
  const Array a = where(endless, 1, low), b = where(endless, 1, high);
  const Array large = (a >= 0) & (b >= 10) & isfinite(b), both = large & (a >= 10);

  // a >= 10. At equal b: -log(2 pi b) / 2 and so on.
  const Array p = where(both, a, 10), q = where(both, b, 10), total = p + q;
  const Array by_both = -0.5 * log(q) + 0.91893853320467274178 + (stirling_rest(p) + stirling_rest(q)) -
                        stirling_rest(total) - (p - 0.5) * log1p(q / p) - q * log1p(p / q);

  // a < 10: log(gamma(b) / gamma(a + b)), to which log(gamma(a)) is added.
  const Array c = where(large, a, 1), d = where(large, b, 10), sum = c + d;
  const Array one_large = stirling_rest(d) - stirling_rest(sum) - (sum - 0.5) * log1p(c / d) - c * (log(d) - 1);
  const Array small = lgamma(where(large, 1, b)) - lgamma(where(large, 1, a + b));
  const Array result = where(both, by_both, lgamma(where(both, 1, a)) + where(large, one_large, small));
  return where(endless, -kInfinity, result);
}

}  // namespace

Array logit(const Operand& x) {
  const AtLine line(x.loc());
  return in_floats("logit", x, [](const Array& p) {
    return custom_jvp(
        [](const Array& a) {
          const Array near = abs(a - 0.5) < 0.2, m = where(near, a, 0.5);
          return where(near, log1p((2 * m - 1) / (1 - m)), log(where(near, 1, a / (1 - a))));
        },
        [](const Array& a, const Array& da) { return da / a + da / (1 - a); }, user_line({}))(p);
  });
}
Array entr(const Operand& x) {
  const AtLine line(x.loc());
  return in_floats("entr", x, [](const Array& a) {
    const Array below = a < 0;
    return where(below, -kInfinity, -xlogx(where(below, 1, a)));
  });
}
Array rel_entr(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return in_floats("rel_entr", x, y, [](const Array& a, const Array& b) {
    const Array both = (a > 0) & (b > 0);
    return where(both, weighted_log_ratio(where(both, a, 1), where(both, b, 1)),
                 where((a == 0) & (b >= 0), zeros_like(a), infinite_or_nan(a, b)));
  });
}
Array kl_div(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return in_floats("kl_div", x, y, [](const Array& a, const Array& b) {
    const Array both = (a > 0) & (b > 0);
    return where(both, divergence(where(both, a, 1), where(both, b, 1)),
                 where((a == 0) & (b >= 0), b - a, infinite_or_nan(a, b)));
  });
}
Array betaln(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return in_floats("betaln", x, y, log_beta);
}

}  // namespace neap
