// The price of an Asian option and its Greeks by Monte Carlo, with paths cut over ranks. Each rank draws the numbers of its
// paths: they are those of one process, and nothing is sent but three sums.
//
//   mpirun -n 4 greeks_ranks [PATHS] [STEPS]
#include <cmath>

#include "report.h"

using neap::Array;

struct Market {
  Array spot, volatility, rate;
};

// The discounted payoff of each path of this block: of the geometric mean, whose price has a formula.
template <class Draw>
Array payoffs(const Market& m, int64_t steps, float strike, Draw draw) {
  const float dt = 1.0f / static_cast<float>(steps);
  const Array drift = (m.rate - m.volatility * m.volatility / 2) * dt, noise = m.volatility * std::sqrt(dt);
  struct Path {
    Array log, total;
  };
  auto step = [&](const Array& i, const Path& p) {
    const Array log = p.log + drift + noise * draw(i);
    return Path{log, p.total + log};
  };
  const Array start = neap::log(m.spot) + neap::zeros_like(draw(neap::array(0)));
  const Path end = neap::fori_loop(0, steps, step, Path{start, neap::zeros_like(start)});
  const Array mean = neap::exp(end.total / static_cast<float>(steps));
  return neap::exp(-m.rate) * neap::maximum(mean - strike, 0);
}

int main(int argc, char** argv) {
  return neap::mpi::run(argc, argv, [&] {
    const int64_t paths = number(argc, argv, 1, 1 << 18), steps = number(argc, argv, 2, 64);
    const neap::Mesh mesh = neap::mpi::mesh({{"x", -1}});
    const float strike = 100;
    auto price = [=](const Market& market, const Array& key) {
      return neap::mean(payoffs(market, steps, strike, [&](const Array& i) {
        return neap::local_block(neap::random::normal(neap::random::fold_in(key, i), {paths}), "x");
      }));
    };
    auto greeks = neap::jit(neap::shard(
        [=](const Market& market, const Array& key) { return neap::pmean(neap::value_and_grad(price)(market, key), "x"); },
        {.mesh = mesh, .in = {{}, {}}, .out = {{}}}));
    const Market market{neap::array(100.0f), neap::array(0.2f), neap::array(0.05f)};
    const auto [result, seconds] = reported("Asian option", greeks, market, neap::random::key(1));
    const auto& [value, slope] = result;

    // Of a geometric mean over dates 1/n, 2/n, ..., 1: a lognormal number.
    const double n = static_cast<double>(steps), sigma = 0.2, r = 0.05, s = 100;
    const double variance = sigma * sigma * (n + 1) * (2 * n + 1) / (6 * n * n), deviation = std::sqrt(variance);
    const double mean = std::log(s) + (r - sigma * sigma / 2) * (n + 1) / (2 * n);
    auto normal = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
    const double d = (mean - std::log(100.0)) / deviation;
    const double forward = std::exp(mean + variance / 2);
    const double known = std::exp(-r) * (forward * normal(d + deviation) - 100 * normal(d));
    const double delta = std::exp(-r) * forward * normal(d + deviation) / s;
    if (mesh.rank() == 0)
      std::cout << "price " << value.item<float>() << " (" << known << "), delta " << slope.spot.item<float>() << " ("
                << delta << "), vega " << slope.volatility.item<float>() << ", rho " << slope.rate.item<float>() << '\n'
                << 1e-6 * static_cast<double>(paths * steps) / seconds << " million steps a second\n";
    const double error = 30 / std::sqrt(static_cast<double>(paths));
    return std::abs(value.item<float>() - known) < error && std::abs(slope.spot.item<float>() - delta) < error ? 0 : 1;
  });
}
