// Tangents of elementwise ops: the dx, dy and dz columns of <neap/ops.def>.
#include "autodiff/jvp_rules.h"

namespace neap::autodiff {
namespace {

// Returns the share of the derivative of max or min (r) that goes to x: all where x won, half where both did.
Array tie(const Array& x, const Array& y, const Array& r) {
  const auto constant = [&](double value) { return full(r.shape(), value, r.dtype()); };
  return select(x == r, select(y == r, constant(0.5), constant(1)), constant(0));
}

// Returns pow's derivative in its base, y x^(y - 1): 0, not 0 * inf, at y = 0 where x is 0 or its reciprocal overflows.
Array pow_slope(const Array& x, const Array& y) {
  const Array corner = (y == 0) & isinf(reciprocal(x));
  return select(corner, zeros_like(y), y * pow(select(corner, ones_like(x), x), y - 1));
}

// Returns log(x), and 0 at x = 0: pow's derivative in its exponent is 0 there, not 0 * -inf.
Array safe_log(const Array& x) { return log(select(x == 0, ones_like(x), x)); }

// Returns the derivative of digamma: its recurrence up to x + 10, the asymptotic series there (Bernoulli numbers over
// odd powers), and the reflection trigamma(x) + trigamma(1 - x) = (pi / sin(pi x))^2 below 1/2.
Array trigamma(const Array& given) {
  // Eleven terms are added, so not in half types.
  const Array x = widened(given);
  const Array left = x < 0.5;
  const Array y = select(left, 1 - x, x);
  Array total = zeros_like(y);
  for (int k = 0; k < 10; ++k) total = total + reciprocal(square(y + k));
  const Array z = reciprocal(y + 10), z2 = z * z;
  constexpr double kBernoulli[] = {-3617.0 / 510, 7.0 / 6,  -691.0 / 2730, 5.0 / 66,
                                   -1.0 / 30,     1.0 / 42, -1.0 / 30,     1.0 / 6};
  Array series = zeros_like(z);
  for (const double b : kBernoulli) series = series * z2 + b;
  total = total + z + z2 / 2 + series * z2 * z;
  const double pi = 3.14159265358979323846;
  // Exact, and 0 at the poles, where the sine of a rounded multiple of pi is not.
  const Array from_pole = select(left, x - rint(x), full(x.shape(), 0.5, x.dtype()));
  return select(left, square(pi / sin(pi * from_pole)) - total, total).astype(given.dtype());
}

// Sum collects the contributions of the operands.
struct Sum {
  Array value;
  void operator+=(const Array& term) { value = sum_of(value, term); }
  void operator+=(std::nullopt_t) {}
};

// Rows name what they need of x, y, z, r (the result) and t (the operand's tangent).
#define NEAP_TERM(operand, dx)                               \
  if (const Array& t = site.tangent[operand]; !is_zero(t)) { \
    sum += (dx);                                             \
  }
#define NEAP_UNARY(name, types, dx, ...)                                                \
  Sum name##_jvp([[maybe_unused]] const JvpSite& site, [[maybe_unused]] const Array& x, \
                 [[maybe_unused]] const Array& r) {                                     \
    Sum sum;                                                                            \
    NEAP_TERM(0, dx)                                                                    \
    return sum;                                                                         \
  }
#define NEAP_BINARY(name, types, dx, dy, ...)                                           \
  Sum name##_jvp([[maybe_unused]] const JvpSite& site, [[maybe_unused]] const Array& x, \
                 [[maybe_unused]] const Array& y, [[maybe_unused]] const Array& r) {    \
    Sum sum;                                                                            \
    NEAP_TERM(0, dx)                                                                    \
    NEAP_TERM(1, dy)                                                                    \
    return sum;                                                                         \
  }
#define NEAP_TERNARY(name, types, dx, dy, dz, ...)                                                                    \
  Sum name##_jvp([[maybe_unused]] const JvpSite& site, [[maybe_unused]] const Array& x,                               \
                 [[maybe_unused]] const Array& y, [[maybe_unused]] const Array& z, [[maybe_unused]] const Array& r) { \
    Sum sum;                                                                                                          \
    NEAP_TERM(0, dx)                                                                                                  \
    NEAP_TERM(1, dy)                                                                                                  \
    NEAP_TERM(2, dz)                                                                                                  \
    return sum;                                                                                                       \
  }
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY
#undef NEAP_TERM

}  // namespace

Array jvp_elementwise(const JvpSite& site) {
  const Arrays& in = site.in;
  // Both branches at once: one select instead of a sum of two.
  if (site.node.op == Op::select && !is_zero(site.tangent[1]) && !is_zero(site.tangent[2]))
    return select(in[0], site.tangent[1], site.tangent[2]);
  switch (site.node.op) {
#define NEAP_UNARY(name, ...) \
  case Op::name: return name##_jvp(site, in[0], site.out).value;
#define NEAP_BINARY(name, ...) \
  case Op::name: return name##_jvp(site, in[0], in[1], site.out).value;
#define NEAP_TERNARY(name, ...) \
  case Op::name: return name##_jvp(site, in[0], in[1], in[2], site.out).value;
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY
    default: break;
  }
  throw InternalError("jvp: not elementwise");
}

}  // namespace neap::autodiff
