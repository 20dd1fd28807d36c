// The price of an Asian option and its Greeks by Monte Carlo, with paths cut over ranks. Each rank draws the numbers of its
// paths: they are those of one process, and nothing is sent but three sums.
//
//   mpirun -n 4 greeks_ranks [PATHS] [STEPS]        (--plan RANKS before these: the plan of one of so many)
#include <cmath>

#include "report.h"

using neap::Array;

struct Market {
  Array spot, volatility, rate;
};

// The sum over the dates of a Brownian path, for each path of this block. It does not depend on the market.
template <class Draw>
Array noise_of(int64_t steps, Draw draw) {
  struct Path {
    Array walk, total;
  };
  auto step = [&](const Array& i, const Path& p) {
    const Array walk = p.walk + draw(i);
    return Path{walk, p.total + walk};
  };
  const Array start = neap::zeros_like(draw(neap::array(0)));
  return neap::fori_loop(0, steps, step, Path{start, start}).total;
}

// The discounted payoff of each path: of the geometric mean, whose price has a formula.
Array payoffs(const Market& m, const Array& noise, int64_t steps, float strike) {
  const float dates = static_cast<float>(steps), dt = 1 / dates;
  const Array drift = (m.rate - m.volatility * m.volatility / 2) * (dt * (dates + 1) / 2);
  const Array mean = neap::exp(neap::log(m.spot) + drift + m.volatility * (std::sqrt(dt) / dates) * noise);
  return neap::exp(-m.rate) * neap::maximum(mean - strike, 0);
}

int main(int argc, char** argv) {
  return neap::mpi::run(argc, argv, [&] {
    const int64_t planned = planned_ranks(argc, argv);
    const int64_t paths = number(argc, argv, 1, 1 << 18), steps = number(argc, argv, 2, 64);
    const neap::Mesh mesh = mesh_of(planned);
    const float strike = 100;
    auto greeks = neap::jit(neap::shard(
        [=](const Market& market, const Array& key) {
          const Array noise = noise_of(steps, [&](const Array& i) {
            return neap::local_block(neap::random::normal(neap::random::fold_in(key, i), {paths}), "x");
          });
          auto price = [&](const Market& m) { return neap::mean(payoffs(m, noise, steps, strike)); };
          return neap::pmean(neap::value_and_grad(price)(market), "x");
        },
        {.mesh = mesh, .in = {{}, {}}, .out = {{}}}));
    const Array scalar = neap::spec({}, neap::f32);
    if (planned > 0) return std::cout << greeks.plan(Market{scalar, scalar, scalar}, neap::random::key(1)) << '\n', 0;
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
