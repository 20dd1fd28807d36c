// What the special functions share: series, and logarithms of quotients that keep their digits.
#include "trace/library/special_common.h"

#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/transforms.h>

#include <limits>

namespace neap::tracing {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Array in_floats(const std::string& key, std::initializer_list<const Operand*> operands,
                const std::function<Array(const Arrays&)>& f) {
  const std::vector<const Operand*> all(operands);
  const DType dtype = to_float_dtype(common_dtype(all)), computed = wide(dtype);
  Arrays given;
  for (const Operand* x : all) given.push_back(x->as(dtype));
  return composite(key, given, [&](const Arrays& in) {
    Arrays widened;
    for (const Array& x : in) widened.push_back(x.astype(computed));
    return f(widened).astype(dtype);
  });
}

Array of_reals(const std::string& name, std::initializer_list<const Operand*> operands,
               const std::function<Array(const Arrays&)>& f) {
  for (const Operand* x : operands) {
    if (!is_complex(x->dtype())) continue;
    throw_user<DTypeError>(name, to_string(Aval{x->shape(), x->dtype()}), "a real dtype",
                           "take abs(), real() or imag() of it", user_line(x->loc()));
  }
  common_shape(name, std::vector<const Operand*>(operands));
  return in_floats(name, operands, f);
}

Array of_reals(const std::string& name, const Operand& x, const std::function<Array(const Array&)>& f) {
  return of_reals(name, {&x}, [&](const Arrays& in) { return f(in[0]); });
}

Array chebyshev(const Chebyshev& table, const Array& x) {
  const size_t count = x.dtype() == DType::f64 ? table.c.size() : static_cast<size_t>(table.f32);
  const double width = table.high - table.low;
  const Array twice = x * (4 / width) - 2 * (table.low + table.high) / width;
  Array b = full({}, table.c[count - 1], x.dtype()), before = zeros({}, x.dtype());
  for (size_t k = count - 1; k-- > 1;) {
    const Array next = twice * b - before + table.c[k];
    before = b;
    b = next;
  }
  return 0.5 * twice * b - before + table.c[0];
}

Array horner(const Array& x, std::span<const double> c) {
  Array sum = full({}, c.back(), x.dtype());
  for (size_t k = c.size() - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

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

// With s = (x - y) / (x + y) the logarithm is 2 (s + s^3 / 3 + s^5 / 5 + ...), whose first term cancels exactly.
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

// The terms B(2k) / (2k (2k - 1) x^(2k - 1)).
Array stirling_rest(const Array& x) {
  constexpr double kTerms[] = {1.0 / 12,   -1.0 / 360,        1.0 / 1260, -1.0 / 1680,
                               1.0 / 1188, -691.0 / 360360.0, 1.0 / 156,  -3617.0 / 122400};
  const Array r = reciprocal(x), r2 = square(r);
  Array series = zeros_like(x);
  for (int k = x.dtype() == DType::f64 ? 8 : 4; k-- > 0;) series = series * r2 + kTerms[k];
  return r * series;
}

Array log_beta_of_large(const Array& x, const Array& y) {
  return -0.5 * log(y) + 0.91893853320467274178 + (stirling_rest(x) + stirling_rest(y)) - stirling_rest(x + y) -
         (x - 0.5) * log1p(y / x) - y * log1p(x / y);
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
  const Array p = where(both, a, 10), q = where(both, b, 10);
  const Array by_both = log_beta_of_large(p, q);

  // a < 10: log(gamma(b) / gamma(a + b)), to which log(gamma(a)) is added.
  const Array c = where(large, a, 1), d = where(large, b, 10), sum = c + d;
  const Array one_large = stirling_rest(d) - stirling_rest(sum) - (sum - 0.5) * log1p(c / d) - c * (log(d) - 1);
  const Array small = lgamma(where(large, 1, b)) - lgamma(where(large, 1, a + b));
  const Array result = where(both, by_both, lgamma(where(both, 1, a)) + where(large, one_large, small));
  return where(endless, -kInfinity, result);
}

}  // namespace neap::tracing
