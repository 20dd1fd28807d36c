// The inverse error function: with threefry, the whole cost of normal random numbers.
#include <cmath>
#include <span>

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

// The same of f64: a quotient of polynomials in w = -log(1 - x^2), which is at most 36.05; of others from 6.25 on, in
// the distance from there. All their terms are positive.
struct Pair {
  double near, far;
};
X polynomial_of(X far, X x, std::span<const Pair> coefficients) {
  const auto at = [&](const Pair& p) { return select(far, c(x, p.far), c(x, p.near)); };
  X sum = at(coefficients.back());
  for (size_t k = coefficients.size() - 1; k-- > 0;) sum = fma(sum, x, at(coefficients[k]));
  return sum;
}

X erf_inv_f64(X x) {
  static constexpr Pair kAbove[] = {{0.886226925452758, 2.335945363810792},
                                    {0.3135332071497098, 1.0205137954100498},
                                    {0.08101379051529921, 0.2192283096380886},
                                    {0.014874650388736844, 0.029995675219493867},
                                    {0.002025388252687731, 0.0028916918843941886},
                                    {0.00020979793113718866, 0.00020558209713196686},
                                    {1.602597996489693e-05, 1.0880713077504143e-05},
                                    {8.287068027740565e-07, 4.2190455317308254e-07},
                                    {2.378514132476992e-08, 1.1313751462740695e-08},
                                    {1.7582004870934664e-10, 1.6582503080587021e-10},
                                    {0.0, 8.054696300603451e-13},
                                    {0.0, 4.88683880349934e-16}};
  static constexpr Pair kBelow[] = {{1.0, 1.0},
                                    {0.09198495134122421, 0.3527733055307058},
                                    {0.054300632567405444, 0.06694288843251056},
                                    {0.004004502013865454, 0.0080709420804903},
                                    {0.0009162325829246779, 0.0007001875586568107},
                                    {4.844605416333727e-05, 4.433779612386738e-05},
                                    {4.7393763633626315e-06, 2.080120780320811e-06},
                                    {1.3263568866624274e-07, 6.970196831776167e-08},
                                    {3.1748370271533075e-09, 1.492032001729521e-09},
                                    {0.0, 1.3754008275633505e-11},
                                    {0.0, 2.9135665081398594e-14}};
  const X one = c(x, 1), t = (one - x) * (one + x), w = -log(t);
  const X far = lt(c(x, 6.25), w), v = select(far, w - c(x, 6.25), w);
  const X quotient = polynomial_of(far, v, kAbove) / polynomial_of(far, v, kBelow);
  return x * select(lt(c(x, 0), t), quotient, select(eq(t, c(x, 0)), c(x, HUGE_VAL), c(x, NAN)));
}

}  // namespace

X erf_inv(X x) { return x.type() == DType::f32 ? erf_inv_f32(x) : erf_inv_f64(x); }

}  // namespace neap::scalar::m
