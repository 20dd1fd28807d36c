// The inverse error function: with threefry, the whole cost of normal random numbers.
#include "trace/scalar/scalar_math.h"

namespace neap::scalar::m {
namespace {

// log(t) + 4, to 3e-8 and its own rounding, for normal t in (0, 1].
X log_plus_four(X t) {
  static constexpr uint32_t kSqrtHalf = 0x3f3504f3;
  const X b = bitcast(t, DType::i32);
  const X exponent = (b - bits(b, kSqrtHalf)) & bits(b, 0xff800000);  // of t / sqrt(1/2), times 2^23
  const X r = bitcast(b - exponent, DType::f32) - c(t, 1);            // in [sqrt(1/2) - 1, sqrt(2) - 1)
  const X whole = fma(convert(exponent, DType::f32), 0x1.62e430p-24, 4.0);
  // By even and odd powers: a chain of half the length.
  const X square = r * r;
  const X even = polynomial(square, {1.0000001192092896, 0.3333658277988434, 0.19864146411418915, 0.16481247544288635});
  const X odd =
      polynomial(square, {-0.5000092387199402, -0.2495371252298355, -0.1737101674079895, -0.10079937428236008});
  return fma(fma(odd, r, even), r, whole);
}

// erf_inv(x) / x is a smooth function of log(1 - x^2) alone (M. Giles, "Approximating the erfinv function"); here it
// is one polynomial over the whole range, so that nothing branches: odd, at most 3.5 ulp off, and sqrt(2) erf_inv(x) at
// most 3.6. Coefficients: tools/fit_erf_inv.py. The terms above v^7 are summed apart, to shorten the chain; the last
// two steps, which decide the rounding, stay Horner's.
X erf_inv_f32(X x) {
  const X one = c(x, 1), t = (one - x) * (one + x), v = log_plus_four(t);
  const X square = v * v;
  const X low = polynomial(v, {-0.007221340201795101, 0.00020409520948305726, 0.00011902049300260842,
                               1.549350236018654e-05, 4.5750039134873077e-07, -1.7807121821533656e-07});
  const X high =
      polynomial(v, {-3.078458732375111e-08, -1.40869116371789e-09, 2.097815671175951e-10, 3.947796950454219e-11,
                     2.917424331630447e-12, 1.0772897060095515e-13, 1.635380910823981e-15});
  const X upper = fma(high, (square * square) * square, low);
  const X quotient = fma(fma(upper, v, -0.228354811668396), v, 1.8587791919708252);
  // Infinity where |x| is 1, NaN beyond.
  const X outside = bitcast(shr(bitcast(t, DType::i32), 31) | x.dag->integer(0x7f800000, DType::i32), DType::f32);
  return x * select(lt(c(x, 0), t), quotient, outside);
}

}  // namespace

X erf_inv(X x) { return x.type() == DType::f32 ? erf_inv_f32(x) : through_f64(Function::erf_inv, x); }

}  // namespace neap::scalar::m
