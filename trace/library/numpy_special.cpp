// Special functions of numpy.h that keep their digits where the formula by which they are known does not.
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/transforms.h>

#include <cmath>
#include <limits>

#include "trace/library/special_common.h"

namespace neap {

using namespace tracing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns x * log(x), 0 at 0, where its derivative is log(0).
Array xlogx(const Array& x) {
  return custom_jvp([](const Array& a) { return where(a == 0, 0, a * log(where(a == 0, 1, a))); },
                    [](const Array& a, const Array& da) { return da * (log(a) + 1); }, user_line({}))(x);
}

// Returns x * log(x / y) of positive numbers.
Array weighted_log_ratio(const Array& x, const Array& y) {
  return custom_jvp([](const Array& a, const Array& b) { return a * log_ratio(a, b); },
                    [](const Array& a, const Array& b, const Array& da, const Array& db) {
                      return da * (log_ratio(a, b) + 1) - db * (a / b);
                    },
                    user_line({}))(x, y);
}

// Returns what a relative entropy is outside its domain.
Array infinite_or_nan(const Array& a, const Array& b) { return where(isnan(a) | isnan(b), a + b, kInfinity); }

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
  return in_floats("rel_entr", {&x, &y}, [](const Arrays& in) {
    const Array &a = in[0], &b = in[1];
    const Array both = (a > 0) & (b > 0);
    return where(both, weighted_log_ratio(where(both, a, 1), where(both, b, 1)),
                 where((a == 0) & (b >= 0), zeros_like(a), infinite_or_nan(a, b)));
  });
}
Array kl_div(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return in_floats("kl_div", {&x, &y}, [](const Arrays& in) {
    const Array &a = in[0], &b = in[1];
    const Array both = (a > 0) & (b > 0);
    return where(both, divergence(where(both, a, 1), where(both, b, 1)),
                 where((a == 0) & (b >= 0), b - a, infinite_or_nan(a, b)));
  });
}
Array betaln(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return in_floats("betaln", {&x, &y}, [](const Arrays& in) { return log_beta(in[0], in[1]); });
}

}  // namespace neap
