// The price of a European call and its greeks by Monte Carlo: 10 million paths that are never stored, derivatives by
// grad and hessian through the simulation, beside Black and Scholes' formula differentiated the same way.
#include <neap/neap.h>
#include <cmath>
#include <cstdio>
#include <string>
namespace nr = neap::random;
using neap::Array;
using namespace neap::literals;

struct Market { Array spot, rate, volatility; };
constexpr float strike = 105, years = 0.75f;
constexpr int64_t paths = 10'000'000;

Array formula(const Market& m) {
  Array sd = m.volatility * std::sqrt(years);
  Array d1 = (neap::log(m.spot / strike) + m.rate * years) / sd + 0.5f * sd;
  return m.spot * neap::ndtr(d1) - strike * neap::exp(-m.rate * years) * neap::ndtr(d1 - sd);
}

Array simulated(const Market& m) {
  Array z = nr::normal(nr::key(7), {paths});
  Array end = m.spot * neap::exp((m.rate - 0.5f * neap::square(m.volatility)) * years + m.volatility * std::sqrt(years) * z);
  return neap::exp(-m.rate * years) * neap::mean(neap::maximum(end - strike, 0.0f));
}

int main() {
  Market m{neap::array(100.0f), neap::array(0.03f), neap::array(0.2f)};
  auto price = neap::jit(simulated, {.memory_budget = 1_MiB});
  auto greeks = neap::jit(neap::grad(simulated), {.memory_budget = 1_MiB});
  std::printf("%lld paths, greeks in %zu bytes\n", static_cast<long long>(paths), greeks.plan(m).peak_bytes());
  Market found = greeks(m), exact = neap::grad(formula)(m);
  // Gamma: a payoff's kink has no second derivative path by path, so it comes from the deltas of two nearby spots.
  auto delta = [&](float spot) { return greeks(Market{neap::array(spot), m.rate, m.volatility}).spot.item<float>(); };
  float gamma = (delta(101) - delta(99)) / 2;
  float exact_gamma = neap::hessian([&](const Array& s) { return formula({s, m.rate, m.volatility}); })(m.spot).item<float>();
  bool good = true;
  auto compare = [&](const std::string& name, float mine, float right, float tolerance) {
    std::printf("%-6s %9.4f  formula %9.4f\n", name.c_str(), mine, right);
    good = good && std::abs(mine - right) < tolerance;
  };
  compare("price", price(m).item<float>(), formula(m).item<float>(), 0.02f);
  compare("delta", found.spot.item<float>(), exact.spot.item<float>(), 0.001f);
  compare("rho", found.rate.item<float>(), exact.rate.item<float>(), 0.05f);
  compare("vega", found.volatility.item<float>(), exact.volatility.item<float>(), 0.1f);
  compare("gamma", gamma, exact_gamma, 0.0005f);
  return good ? 0 : 1;
}
