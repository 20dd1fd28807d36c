// The logarithm of the gamma function and its derivative: of f32 in f64, whose digits are enough for the zeros; of f64
// by the C library.
#include <cmath>

#include "trace/scalar/scalar_math.h"

namespace neap::scalar::m {
namespace {

// x, or 1 - x where x is below 0, and what its functions need of y + k, 0 <= k < 8, as (y + k) (y + 7 - k) = q + k (7 -
// k). Stirling's series holds from 8 on: at y, or at y + 8.
struct Gamma {
  X negative, part;  // x - its nearest whole number
  X y, z, near;      // near: y is below 8
  X q, first, last;  // first = q (q + 6), last = (q + 10) (q + 12)
};
Gamma parts_of(X x) {
  const X negative = lt(x, 0.0), y = select(negative, c(x, 1) - x, x), near = lt(y, 8.0);
  const X small = select(near, y, c(x, 1)), q = small * (small + c(x, 7));
  return {negative,
          x - rint(x),
          y,
          select(near, y + c(x, 8), y),
          near,
          q,
          q * (q + c(x, 6)),
          (q + c(x, 10)) * (q + c(x, 12))};
}

// sin(pi part) / (pi part) and cos(pi part) of |part| <= 1/2: Taylor series, to 2^-53.
X sine_of(X part) {
  return polynomial(part * part,
                    {1.0, -1.6449340668482264, 0.81174242528335364, -0.19075182412208421, 0.026147847817654801,
                     -0.0023460810354558236, 0.000148428793031071, -6.9758736616563805e-6, 2.5312174041370277e-7,
                     -7.3047118222177748e-9, 1.7165384749821433e-10});
}
X cosine_of(X part) {
  return polynomial(part * part,
                    {1.0, -4.9348022005446793, 4.0587121264167682, -1.3352627688545895, 0.2353306303588932,
                     -0.02580689139001406, 0.001929574309403923, -0.00010463810492484571, 4.303069587032947e-6,
                     -1.3878952462213772e-7, 3.6047307974625009e-9, -7.7007071306013534e-11});
}

// log Gamma(1 + d) and log Gamma(2 + d), |d| <= 1/16, over d: their Taylor series, whose coefficients are zeta's.
X slope_of(X one, X d) {
  constexpr double kOfOne[] = {-0.57721566490153286, 0.82246703342411321, -0.40068563438653143, 0.27058080842778454,
                               -0.20738555102867398, 0.16955717699740818, -0.14404989676884612, 0.12550966952474304};
  X sum = c(d, 0);
  double sign = -1;  // log Gamma(2 + d) is log(1 + d) more
  for (int k = 8; k > 0; --k, sign = -sign)
    sum = fma(sum, d, select(one, c(d, kOfOne[k - 1]), c(d, kOfOne[k - 1] + sign / k)));
  return sum;
}

X lgamma_of(X x) {
  const Gamma g = parts_of(x);
  const X inverse = c(x, 1) / g.z, square = inverse * inverse;
  const X series =
      polynomial(square, {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156});
  const X stirling = fma(series, inverse, fma(g.z - c(x, 0.5), log(g.z), c(x, 0.91893853320467274) - g.z));
  const X product = select(g.near, g.first * g.last, c(x, 1));
  // Reflection: Gamma(x) Gamma(1 - x) = pi / sin(pi x).
  const X reflected = product / abs(g.part * sine_of(g.part));
  const X rest = log(select(g.negative, reflected, product));
  const X far = select(g.negative, rest - stirling, stirling - rest);
  const X d = g.y - rint(g.y), one = lt(g.y, 1.5);
  const X is_near = bit_and(lt(abs(d), 0.0625), bit_and(lt(c(x, 0.5), x), lt(x, 2.5)));
  const X infinite = eq(abs(x), c(x, HUGE_VAL));
  const X close = fma(d, slope_of(one, d), c(x, 0));  // 0, not -0, at 1 and 2
  return select(infinite, abs(x), select(is_near, close, far));
}

X digamma_of(X x) {
  const Gamma g = parts_of(x);
  const X inverse = c(x, 1) / g.z, square = inverse * inverse;
  const X series =
      square * polynomial(square, {-1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240, -1.0 / 132, 691.0 / 32760, -1.0 / 12});
  // The sum of 1 / (y + k), in pairs.
  const X both = fma(g.q, 2.0, 6.0) * g.last + fma(g.q, 2.0, 22.0) * g.first;
  const X sum = fma(g.y, 2.0, 7.0) * both / (g.first * g.last);
  const X y = log(g.z) + fma(inverse, c(x, -0.5), series) - select(g.near, sum, c(x, 0));
  const X cotangent = cosine_of(g.part) / (g.part * sine_of(g.part));
  const X pole = bit_and(eq(g.part, c(x, 0)), le(x, c(x, 0)));
  return select(pole, c(x, NAN), select(g.negative, y - cotangent, y));
}

X in_f64(X (*function)(X), X x) { return convert(function(convert(x, DType::f64)), x.type()); }
bool is_f32(X x) { return x.type() == DType::f32; }

}  // namespace

X lgamma(X x) { return is_f32(x) ? in_f64(lgamma_of, x) : through_f64(Function::lgamma, x); }
X digamma(X x) { return is_f32(x) ? in_f64(digamma_of, x) : through_f64(Function::digamma, x); }

}  // namespace neap::scalar::m
