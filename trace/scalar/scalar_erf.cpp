// The error function. Polynomials: tools/fit_math.py.
#include <cmath>

#include "trace/scalar/scalar_exp.h"
#include "trace/scalar/scalar_math.h"

namespace neap::scalar::m {
namespace {

// erf(x) of |x| < 0.93: x + x P(x^2).
X erf_near_0(X x) {
  return fma(polynomial(x * x, {0.12837913632392883, -0.3761247992515564, 0.11281682550907135, -0.026761723682284355,
                                0.004985942970961332, -0.0005953742074780166}),
             x, x);
}

// Beyond, 1 - 2^-Q(|x|).
X erf_f32(X x) {
  const X a = abs(x), t = at_most(a, 4.0), round = c(x, kRound);
  const X small = erf_near_0(x);
  const X q = polynomial(t, {-0.0029439101926982403, -1.6152671575546265, -0.93997722864151, -0.13068120181560516,
                             0.022226853296160698, -0.001773895462974906});
  const X rounded = q + round, r = q - (rounded - round);
  const X p = polynomial(r, {1.0, 0.6931469440460205, 0.2402222603559494, 0.055507466197013855, 0.00967258121818304,
                             0.0013263357104733586});
  const X large = fma(-power_of_two(rounded, 0), p, 1.0);
  return select(lt(a, 0.93), small, copysign(large, x));
}

// From 1/2 on exp(-a^2) erfcx(a), a = |x|, where every quantity whose rounding would show has a second part: the
// square, which is s + e; log2(e); the polynomial g = (1 + 2 a) erfcx(a), in (a - 3.75) / (a + 3.75); and 1 + 2 a. So
// it needs no f64, which few GPUs are fast at. The polynomials are interpolated at Chebyshev's points, up to
// 10.1; beyond, all rounds to 0. At 10.23 n is -151, and power_of_two(n + 24) is 0 (Scale says why).
X erfc_f32(X x) {
  const X a = at_most(abs(x), 10.23), s = a * a, e = fma(a, a, -s);
  const X rounded = fma(s, -M_LOG2E, kRound), n = rounded - c(x, kRound);
  const X r = fma(s, -0x1.715476p0, -n) + fma(s, -0x1.4ae0cp-26, e * c(x, -M_LOG2E));
  const X slope = polynomial(r, {0.6931471805599453, 0.2402265092778081, 0.05550410884332356, 0.009618055511407762,
                                 0.001333350148782529, 0.00015461909720579576, 1.529768168573811e-05});

  const X t = (a - c(x, 3.75)) / (a + c(x, 3.75));
  const double first = 1.2375126307359647, first_rounded = static_cast<float>(first);
  const X rest = in_pairs(t, {-0.1402405863912252, 0.0035854282897913718, 0.0822761080596994, -0.1088045391347036,
                              0.09231319048278751, -0.05868181275569619, 0.028316683011807467, -0.009829188166564631,
                              0.0018176732433285519, 0.000493701564938463, -0.0002068488991450764});
  const X g = fma(rest, t, first), g_low = fma(rest, t, c(x, first) - g) + c(x, first - first_rounded);
  const X two_a = a + a, w = two_a + c(x, 1), w_low = c(x, 1) - (w - two_a);

  const X inverse = c(x, 1) / w, y = g * inverse;
  const X y_low = (fma(-y, w_low, fma(-y, w, g)) + g_low) * inverse;
  const X m = r * slope, m_low = fma(r, slope, -m);  // 2^r - 1
  const X p = y + fma(y, m, fma(y, m_low, y_low));
  const X far = p * power_of_two(rounded, 24) * c(x, 0x1p-24);
  const X large = select(lt(x, 0.0), c(x, 2) - far, far);
  return select(lt(a, 0.5), c(x, 1) - erf_near_0(x), large);
}

// erf(x) - x of |x| <= 1 in f64.
X erf_tail_f64(X x) {
  return x * in_pairs(x * x, {0.12837916709551256, -0.37612638903183543, 0.11283791670945006, -0.02686617064323777,
                              0.0052239776071164225, -0.0008548325975389692, 0.00012055294904839707,
                              -1.492473690741966e-05, 1.6447424703317362e-06, -1.6208483801871705e-07,
                              1.3720064546777686e-08, -7.795898827002142e-10});
}

// Beyond, 1 - exp(-a^2) g / (1 + 2 a), with g = (1 + 2 a) erfcx(a) in (a - 3) / (a + 3): from 6 on this is 1.
X erf_f64(X x) {
  const X a = abs(x), b = at_most(a, 6.0), square = b * b;
  const X g = polynomial(
      (b - c(x, 3)) / (b + c(x, 3)),
      {1.2530080582697296, -0.13562110612458125, -0.04756229435345085, 0.12964515870278198, -0.11927366341530368,
       0.06830802734226013, -0.02377051491964532, 0.0025293918800166596, 0.001888690435755151, -0.0007798334986943698,
       -0.00010516209075560504, 0.0001251113727344013, 4.981552845529902e-06, -2.0149085338203128e-05,
       -9.42849855288661e-07, 3.4332620536546143e-06, 8.708139946402519e-07});
  const X far = exp_of(reduce_f64(-square)) * g / fma(b, 2.0, 1.0);
  return select(lt(a, 1.0), x + erf_tail_f64(x), copysign(c(x, 1) - far, x));
}

// As erfc_f32, up to 27.3, beyond which it is 0.
X erfc_f64(X x) {
  const X a = at_most(abs(x), 27.3), s = a * a, e = fma(a, a, -s);
  const auto [n, square, square_low] = reduce_f64(-s);
  const X low = square_low - e, r = square + low;
  const X tail = expm1_tail({n, r, low - (r - square)}), m = r + tail, m_low = tail - (m - r);  // exp(...) - 1

  const X t = (a - c(x, 3.75)) / (a + c(x, 3.75));
  const double first = 1.2375126308378275;
  const X rest =
      in_pairs(t, {-0.14024059858554677,   0.0035854154854637766,   0.08227673849012108,     -0.10880393014173656,
                   0.09230432116132534,    -0.05869339858922833,    0.028362277402030348,    -0.009746579572334916,
                   0.001755626018031047,   0.0002937138409462085,   -0.00029015504553746795, 5.1647953301357235e-05,
                   2.2387770301825985e-05, -1.1439681150768723e-05, -9.817399660150054e-07,  1.7408853338522875e-06,
                   -4.54950348593461e-08,  -2.428700532488381e-07,  1.3617528674512304e-08,  2.5464851576408722e-08});
  const X g = fma(rest, t, first), g_low = fma(rest, t, c(x, first) - g) + c(x, 0x1.e951fd2c8de59p-54);
  const X two_a = a + a, w = two_a + c(x, 1), w_low = c(x, 1) - (w - two_a);

  const X inverse = c(x, 1) / w, y = g * inverse;
  const X y_low = (fma(-y, w_low, fma(-y, w, g)) + g_low) * inverse;
  const X p = y + fma(y, m, fma(y, m_low, y_low));
  const X far = p * two_to_f64(n, 53) * c(x, 0x1p-53);
  const X large = select(lt(x, 0.0), c(x, 2) - far, far);
  const X near = c(x, 1) - (x + erf_tail_f64(x));
  return select(lt(a, 0.5), near, large);
}

bool is_f32(X x) { return x.type() == DType::f32; }

}  // namespace

X erf(X x) { return is_f32(x) ? erf_f32(x) : erf_f64(x); }
X erfc(X x) { return is_f32(x) ? erfc_f32(x) : erfc_f64(x); }

}  // namespace neap::scalar::m
