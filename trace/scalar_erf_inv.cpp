// The inverse error function: with threefry, the whole cost of normal random numbers.
#include "trace/scalar_math.h"

namespace neap::scalar::m {
namespace {

// log(t) + 4, to 2e-7 absolute, for normal t in (0, 1].
X log_plus_four(X t) {
  static constexpr uint32_t kSqrtHalf = 0x3f3504f3;
  const X b = bitcast(t, DType::i32);
  const X exponent = (b - bits(b, kSqrtHalf)) & bits(b, 0xff800000);  // of t / sqrt(1/2), times 2^23
  const X r = bitcast(b - exponent, DType::f32) - c(t, 1);            // in [sqrt(1/2) - 1, sqrt(2) - 1)
  const X whole = fma(convert(exponent, DType::f32), 0x1.62e430p-24, 4.00000008457484312);
  // By even and odd powers: a chain of half the length.
  const X square = r * r;
  const X even = polynomial(square, {1.000003695487976, 0.33301252126693726, 0.20616909861564636, 0.11861424148082733});
  const X odd = polynomial(square, {-0.5000253915786743, -0.24870453774929047, -0.18967969715595245});
  const X slope = fma(odd, r, even);
  return fma(slope, r, whole);
}

// erf_inv(x) / x is a smooth function of log(1 - x^2) alone (M. Giles, "Approximating the erfinv function"); here it
// is one polynomial over the whole range, so that nothing branches. Its upper half is added last, to shorten the chain;
// even and odd powers would cancel in the tail. Coefficients: tools/fit_erf_inv.py. At most 3.5 ulp over all x, and
// odd.
X erf_inv_f32(X x) {
  const X one = c(x, 1), t = (one - x) * (one + x), v = log_plus_four(t);
  const X square = v * v, fourth = square * square;
  const X low =
      polynomial(v, {1.8587791919708252, -0.228354811668396, -0.007221340201795101, 0.00020409519493114203,
                     0.00011902047117473558, 1.5493504179175943e-05, 4.5750047661385906e-07, -1.78071246637046e-07});
  const X high =
      polynomial(v, {-3.078459442917847e-08, -1.4086921629186122e-09, 2.0978151160644387e-10, 3.947796950454219e-11,
                     2.9174245484708816e-12, 1.0772898415348231e-13, 1.6353812284613362e-15});
  const X quotient = fma(high, fourth * fourth, low);
  // Infinity where |x| is 1, NaN beyond.
  const X outside = bitcast(shr(bitcast(t, DType::i32), 31) | x.dag->integer(0x7f800000, DType::i32), DType::f32);
  return x * select(lt(c(x, 0), t), quotient, outside);
}

}  // namespace

X erf_inv(X x) { return x.type() == DType::f32 ? erf_inv_f32(x) : through_f64(Function::erf_inv, x); }

}  // namespace neap::scalar::m
