// The parameters of a signal in noise, by maximum likelihood: a Kalman filter is a scan, its likelihood has a gradient,
// and BFGS climbs it. The inverse Hessian that BFGS ends with says how sure the parameters are.
#include <neap/neap.h>

#include <cmath>
#include <iostream>
#include <numbers>

namespace nr = neap::random;
using neap::Array;

struct Model {
  Array decay, drive, noise;  // x' = tanh(decay) x + exp(drive) e; y = x + exp(noise) e'
};
struct Belief {
  Array mean, variance;
};

Array negative_log_likelihood(const Model& m, const Array& ys) {
  const Array a = neap::tanh(m.decay), q = neap::exp(2 * m.drive), r = neap::exp(2 * m.noise);
  auto update = [&](const Belief& before, const Array& y) {
    const Array mean = a * before.mean, variance = a * a * before.variance + q;
    const Array error = y - mean, spread = variance + r, gain = variance / spread;
    const Array loss = 0.5 * (neap::log(2 * std::numbers::pi * spread) + neap::square(error) / spread);
    return std::pair{Belief{mean + gain * error, (1 - gain) * variance}, loss};
  };
  return neap::sum(neap::scan(update, Belief{neap::zeros({}, neap::f64), q / (1 - a * a)}, ys).second);
}

int main() {
  const int n = 4000;
  auto simulate = [&](const Array& key) {  // a = 0.95, drive and noise of 0.5 and 0.8
    const Array keys = nr::split(key), drives = 0.5 * nr::normal(keys[0], {n}, neap::f64);
    auto step = [](const Array& x, const Array& drive) { return std::pair{0.95 * x + drive, 0.95 * x + drive}; };
    return neap::scan(step, neap::zeros({}, neap::f64), drives).second + 0.8 * nr::normal(keys[1], {n}, neap::f64);
  };
  const Array ys = simulate(nr::key(1));

  auto fit = neap::jit([](const Array& observed) {
    auto loss = [&](const Model& m) { return negative_log_likelihood(m, observed); };
    const Array start = neap::zeros({}, neap::f64);
    return neap::minimize(loss, Model{start + 1.0, start, start}, {.gtol = 1e-3});
  });
  const neap::Minimized<Model> found = fit(ys);
  const double fitted[] = {std::tanh(found.x.decay.item<double>()), std::exp(found.x.drive.item<double>()),
                           std::exp(found.x.noise.item<double>())};
  const std::vector<double> deviations = neap::sqrt(neap::diagonal(found.hess_inv)).to_vector<double>();
  std::cout << "decay " << fitted[0] << " (0.95), drive " << fitted[1] << " (0.5), noise " << fitted[2] << " (0.8)\n"
            << "relative deviations of drive and noise " << deviations[1] << ", " << deviations[2] << "\n"
            << found.nfev.item<int>() << " gradients of " << n << " steps, peak "
            << neap::Bytes(fit.last_plan().peak_bytes()) << '\n';
  return std::abs(fitted[0] - 0.95) < 0.02 && std::abs(fitted[1] - 0.5) < 0.05 && std::abs(fitted[2] - 0.8) < 0.05 ? 0
                                                                                                                : 1;
}
