// How well a plate conducts heat, from its temperatures after a while. Each step is implicit, a system of 4,096 equations
// that conjugate gradients solve; the gradient solves one more for each step, and keeps none of the iterations.
#include <neap/neap.h>

#include <cmath>
#include <iostream>

using neap::Array;

Array laplacian(const Array& u) {  // of a plate whose rim is kept at 0
  auto moved = [&](int64_t down, int64_t right) { return neap::pad(u, {down, right}, {-down, -right}); };
  return moved(1, 0) + moved(-1, 0) + moved(0, 1) + moved(0, -1) - 4 * u;
}

Array ten_steps(const Array& conductivity, const Array& start) {
  return neap::fori_loop(
      0, 10,
      [&](const Array&, const Array& u) {
        auto system = [&](const Array& x) { return x - conductivity * laplacian(x); };
        return neap::cg(system, u, u, {.tol = 1e-6});
      },
      start);
}

int main() {
  Array place = neap::linspace(-1, 1, 64), distance = neap::square(place) + neap::expand_dims(neap::square(place), 1);
  Array start = neap::exp(-20 * distance);  // a hot spot
  Array noise = 1e-3f * neap::random::normal(neap::random::key(0), {64, 64});
  Array measured = ten_steps(neap::array(0.7f), start) + noise;

  auto misfit = [&](const Array& log_conductivity) {
    return neap::mean(neap::square(ten_steps(neap::exp(log_conductivity), start) - measured)) / 1e-6f;
  };
  auto fit = neap::jit([&](const Array& guess) { return neap::minimize(misfit, guess, {.gtol = 1e-2}); });
  const auto found = fit(neap::array(-2.0f));
  const float conductivity = std::exp(found.x.item<float>());
  std::cout << "conductivity " << conductivity << ", of 0.7; misfit " << found.fun.item<float>() << " (noise: 1) after "
            << found.nfev.item<int>() << " gradients\n"
            << "peak " << neap::Bytes(fit.last_plan().peak_bytes()) << ", of which a temperature is "
            << neap::Bytes(start.bytes()) << '\n';
  return std::abs(conductivity - 0.7f) < 0.01f && found.fun.item<float>() < 1.1f ? 0 : 1;
}
