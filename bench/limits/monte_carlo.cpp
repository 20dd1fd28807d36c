// exp(-r T) E[max(S exp((r - sigma^2 / 2) T + sigma sqrt(T) z) - K, 0)] and its derivatives in S and sigma.
#include <algorithm>
#include <cmath>

#include "bench/limits/limits.h"
#include "bench/limits/vec.h"

namespace limits {
namespace {

double total(const vf& x) {
  double s = 0;
  for (int i = 0; i < kLanes; ++i) s += x[i];
  return s;
}

struct Accumulators {
  vf payoff{}, d_spot{}, d_sigma{};
};

// `live` is 1 for the samples that count, 0 for those past the end.
template <int U>
inline void add(Block<Accumulators, U>& sums, const Option& o, const Block<vf, U>& z, const Block<vf, U>& live) {
  const float root_years = std::sqrt(o.years);
  const float drift = (o.rate - 0.5f * o.sigma * o.sigma) * o.years, volatility = o.sigma * root_years;
  const auto growth = exp(each<U>([&](int i) { return fma(z.v[i], splat(volatility), splat(drift)); }));
  for (int i = 0; i < U; ++i) {
    Accumulators& a = sums.v[i];
    const vf price = growth.v[i] * o.spot;
    const vi in_money = price > o.strike;
    const vf weight = in_money ? live.v[i] : splat(0.0f);
    a.payoff = fma(price - o.strike, weight, a.payoff);
    a.d_spot = fma(growth.v[i], weight, a.d_spot);
    a.d_sigma = fma(price * weight, fma(z.v[i], splat(root_years), splat(-o.sigma * o.years)), a.d_sigma);
  }
}

}  // namespace

Sums monte_carlo(uint32_t k0, uint32_t k1, const Option& o, int64_t begin, int64_t end) {
  constexpr int U = 3;
  constexpr int64_t kStep = U * kLanes, kSpan = kStep * 1024;  // f32 within a span, f64 across spans
  const auto all = each<U>([](int) { return splat(1.0f); });
  Sums sums;
  while (begin < end) {
    const int64_t stop = std::min({end, begin + kSpan, ((begin >> 32) + 1) << 32});
    Block<Accumulators, U> parts{};
    auto step = [&](const Block<vf, U>& live) {
      const uint32_t hi = static_cast<uint32_t>(begin >> 32);
      add(parts, o, normal_from_bits(threefry_bits<U>({k0, k1}, hi, static_cast<uint32_t>(begin))), live);
    };
    for (; begin + kStep <= stop; begin += kStep) step(all);
    if (begin < stop) {
      Block<vf, U> live{};
      for (int64_t i = 0; i < stop - begin; ++i) live.v[i / kLanes][i % kLanes] = 1.0f;
      step(live);
      begin = stop;
    }
    for (const auto& a : parts.v) {
      sums.payoff += total(a.payoff);
      sums.d_spot += total(a.d_spot);
      sums.d_sigma += total(a.d_sigma);
    }
  }
  return sums;
}

}  // namespace limits
