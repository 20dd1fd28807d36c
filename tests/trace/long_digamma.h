// Digamma for tests, in long double: its zeros left of 0 are differences of large numbers.
#pragma once

#include <cmath>
#include <numbers>

namespace neap::scalar {

/// Returns digamma, NaN at its poles, by the recurrence up to 40 and the series from there.
inline long double long_digamma(long double x) {
  if (x <= 0) {
    const long double part = x - std::nearbyint(x), pi = std::numbers::pi_v<long double>;
    return part == 0 || std::isinf(x) ? static_cast<long double>(NAN) : long_digamma(1 - x) - pi / std::tan(pi * part);
  }
  long double below = 0;
  for (; x < 40; x += 1) below += 1 / x;
  const long double r = 1 / (x * x);
  return std::log(x) - 0.5L / x - r * (1 / 12.0L - r * (1 / 120.0L - r * (1 / 252.0L - r * (1 / 240.0L - r / 132)))) -
         below;
}

}  // namespace neap::scalar
