// Functions that the C library lacks, for Opcode::call.
#include <cmath>
#include <iterator>
#include <numbers>

extern "C" {

double neap_digamma(double x);
double neap_lgamma(double x);

/// Returns the derivative of log gamma, NaN at its poles: reflection; around its positive root, which is between 1 and
/// 2, the distance from there times a polynomial (interpolated at Chebyshev's points); elsewhere the recurrence up to
/// 10, then the asymptotic series (Abramowitz and Stegun 6.3).
double neap_digamma(double x) {
  if (x <= 0.0) {
    const double fraction = x - std::nearbyint(x);  // exact, also of a small negative x
    if (fraction == 0.0) return std::nan("");
    return neap_digamma(1.0 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  if (x < 1.0) return neap_digamma(x + 1.0) - 1.0 / x;
  if (x < 2.0) {
    constexpr double kSlope[] = {0.9676722454476211,     -0.4427631689835922,    0.25849976095572064,
                                 -0.16394270544242373,   0.10782405068107259,    -0.07219956124992488,
                                 0.048804288741289295,   -0.03316112699320711,   0.0225976316929306,
                                 -0.015424747537114432,  0.010539061943021072,   -0.007204887636665922,
                                 0.00492412800378769,    -0.0033658064297729276, 0.002320801434925492,
                                 -0.0016041372623941908, 0.0010264318033223576,  -0.0006295906884464421,
                                 0.0005829007686901187,  -0.0005719635634757139, 0.0002522590506964885};
    const double distance = (x - 1.4616321449683622) - 9.549995429965697e-17;
    // Three chains at once, each in powers of the cube: one would wait for each of its products.
    static_assert(std::size(kSlope) % 3 == 0);
    const double square = distance * distance, cube = square * distance;
    double p = 0.0, q = 0.0, r = 0.0;
    for (int k = static_cast<int>(std::size(kSlope)) - 3; k >= 0; k -= 3) {
      p = p * cube + kSlope[k];
      q = q * cube + kSlope[k + 1];
      r = r * cube + kSlope[k + 2];
    }
    return distance * (p + distance * q + square * r);
  }
  double below = 0.0;
  for (; x < 10.0; x += 1.0) below += 1.0 / x;
  const double r = 1.0 / (x * x);
  const double series =
      r *
      (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * (691.0 / 32760 - r / 12))))));
  return std::log(x) - 0.5 / x - series - below;
}

/// Replaces C's lgamma, which writes the global signgam: a race between threads.
double neap_lgamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

}  // extern "C"
