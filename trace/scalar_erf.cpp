// The error function. Polynomials: tools/fit_math.py.
#include <cmath>

#include "trace/scalar_exp.h"
#include "trace/scalar_math.h"

namespace neap::scalar::m {
namespace {

// Near 0 x + x P(x^2); beyond, 1 - 2^-Q(|x|).
X erf_f32(X x) {
  const X a = abs(x), z = x * x, t = at_most(a, 4.0), round = c(x, kRound);
  const X small = fma(polynomial(z, {0.12837913632392883, -0.3761247992515564, 0.11281682550907135,
                                     -0.026761723682284355, 0.004985942970961332, -0.0005953742074780166}),
                      x, x);
  const X q = polynomial(t, {-0.0029439101926982403, -1.6152671575546265, -0.93997722864151, -0.13068120181560516,
                             0.022226853296160698, -0.001773895462974906});
  const X rounded = q + round, r = q - (rounded - round);
  const X p = polynomial(r, {1.0, 0.6931469440460205, 0.2402222603559494, 0.055507466197013855, 0.00967258121818304,
                             0.0013263357104733586});
  const X large = fma(-power_of_two(rounded, 0), p, 1.0);
  return select(lt(a, 0.93), small, copysign(large, x));
}

// exp(-a^2) erfcx(a), a = |x|: in f64, because both the square and the argument of the polynomial for erfcx need more
// digits than f32 has. That polynomial is in (a - 2) / (a + 2), which maps 0 .. 10 to an interval of length 1.7.
X erfc_f32(X x) {
  const X a = convert(at_most(abs(x), 10.1), DType::f64), two = c(a, 2), round = c(a, 0x1.8p52);
  const X erfcx =
      polynomial((a - two) / (a + two),
                 {0.255395675897689, -0.42718586688746013, 0.24165826182859063, -0.07897801710772866,
                  0.0037316906705829587, 0.006992595423636316, -0.0008408091106306206, -0.0009630360238847643,
                  3.253704555969537e-05, 0.00013850408214897546, 2.6817163389115877e-05});
  const X square = a * a * c(a, -M_LOG2E), n = (square + round) - round;
  const X f = square - n, slope = convert(exp2_slope(convert(f, DType::f32)), DType::f64);
  const X p = convert(fma(erfcx * f, slope, erfcx), DType::f32);  // 2^f erfcx, rounded once
  const X r = split_scale(convert(n, DType::f32) + c(x, kRound))(p);
  return select(lt(x, 0.0), c(x, 2) - r, r);
}

bool is_f32(X x) { return x.type() == DType::f32; }

}  // namespace

X erf(X x) { return is_f32(x) ? erf_f32(x) : through_f64(Function::erf, x); }
X erfc(X x) { return is_f32(x) ? erfc_f32(x) : through_f64(Function::erfc, x); }

}  // namespace neap::scalar::m
