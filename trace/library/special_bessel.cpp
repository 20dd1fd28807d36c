// Modified Bessel functions of the first kind, of order 0 and 1 (Abramowitz and Stegun 9.6), by Chebyshev's series in x
// and in 1 / x, as in Cephes: tools/fit_special.py.
#include <neap/creation.h>
#include <neap/special.h>
#include <neap/transforms.h>

#include "trace/library/special_common.h"

namespace neap {

using namespace tracing;

namespace {

// Returns exp(-|x|) I0(x).
Array scaled_i0(const Array& x) {
  const Array a = abs(x), near = a <= 8;
  const Array root = 1 / sqrt(where(near, a + 4, a));
  return where(near, chebyshev(kBesselI0Near, a), chebyshev(kBesselI0Far, 1 / a)) * root;
}

// Returns exp(-|x|) I1(x) / x.
Array scaled_ratio(const Array& x) {
  const Array a = abs(x), near = a <= 8;
  const Array from = where(near, a + 4, a), root = 1 / sqrt(from);
  return where(near, chebyshev(kBesselI1Near, a), chebyshev(kBesselI1Far, 1 / a)) * root / from;
}

Array i0e_of(const Array& x);
Array ratio_of(const Array& x);

// Returns exp(-|x|) I2(x) / x^2. Up to 2 by Taylor's series (9.6.10), as I0(x) - 2 I1(x) / x is a difference of equals.
Array second_of(const Array& x) {
  const Array a = abs(x), near = a < 2, q = where(near, square(x) * 0.25, 0);
  Array series = ones({}, x.dtype());
  for (int k = x.dtype() == DType::f64 ? 13 : 8; k > 0; --k) series = 1 + q * series / (double{1} * k * (k + 2));
  const Array far = where(near, 2, x);
  return where(near, 0.125 * exp(-a) * series, (i0e_of(far) - 2 * ratio_of(far)) / square(far));
}

Array ratio_of(const Array& x) {
  return custom_jvp(
      scaled_ratio, [](const Array& a, const Array& t) { return t * (a * second_of(a) - sign(a) * ratio_of(a)); },
      user_line({}))(x);
}
Array i0e_of(const Array& x) {
  return custom_jvp(
      scaled_i0, [](const Array& a, const Array& t) { return t * (a * ratio_of(a) - sign(a) * i0e_of(a)); },
      user_line({}))(x);
}

// Returns exp(|x|) y, which may be in range where exp(|x|) is not.
Array grown(const Array& x, const Array& y) {
  const Array half = exp(0.5 * abs(x));
  return where(isinf(x), abs(x), half * (half * y));
}

Array i1_of(const Array& x);
Array i0_of(const Array& x) {
  return custom_jvp([](const Array& a) { return grown(a, scaled_i0(a)); },
                    [](const Array& a, const Array& t) { return t * i1_of(a); }, user_line({}))(x);
}
// Returns I1(x) / x.
Array grown_ratio(const Array& x) {
  return custom_jvp([](const Array& a) { return grown(a, scaled_ratio(a)); },
                    [](const Array& a, const Array& t) { return t * (a * grown(a, second_of(a))); }, user_line({}))(x);
}
Array i1_of(const Array& x) {
  return custom_jvp([](const Array& a) { return a * grown(a, scaled_ratio(a)); },
                    [](const Array& a, const Array& t) { return t * (i0_of(a) - grown_ratio(a)); }, user_line({}))(x);
}
Array i1e_of(const Array& x) {
  return custom_jvp([](const Array& a) { return where(isinf(a), copysign(zeros_like(a), a), a * scaled_ratio(a)); },
                    [](const Array& a, const Array& t) { return t * (i0e_of(a) - ratio_of(a) - sign(a) * i1e_of(a)); },
                    user_line({}))(x);
}

}  // namespace

Array i0(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("i0", x, i0_of);
}
Array i0e(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("i0e", x, i0e_of);
}
Array i1(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("i1", x, i1_of);
}
Array i1e(const Operand& x) {
  const AtLine line(x.loc());
  return of_reals("i1e", x, i1e_of);
}

}  // namespace neap
