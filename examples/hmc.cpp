// Hamiltonian Monte Carlo: 256 chains at once (vmap) sample the posterior of a Bayesian linear regression, whose mean and
// standard deviations are known in closed form.
#include <neap/neap.h>
#include <cmath>
#include <cstdio>
namespace nr = neap::random;
using neap::Array;

struct Data { Array x, y; };  // f32 [n, 2], [n]
struct Chain { Array at, key; };

Array log_posterior(const Array& w, const Data& d) {  // noise of variance 1, prior of variance 1
  return -0.5f * (neap::sum(neap::square(d.y - neap::matmul(d.x, w))) + neap::sum(neap::square(w)));
}

Chain draw(const Chain& chain, const Data& d) {  // one proposal of 8 leapfrog steps, accepted or not
  constexpr float dt = 0.02f;
  auto force = neap::grad([&](const Array& w) { return log_posterior(w, d); });
  Array keys = nr::split(chain.key, 3);
  Array start = nr::normal(keys[0], chain.at.shape());
  using Phase = std::pair<Array, Array>;
  auto [at, momentum] = neap::fori_loop(0, 8, [&](const Array&, const Phase& p) {
    Array half = p.second + 0.5f * dt * force(p.first);
    Array next = p.first + dt * half;
    return Phase{next, half + 0.5f * dt * force(next)};
  }, Phase{chain.at, start});
  auto energy = [&](const Array& w, const Array& p) { return 0.5f * neap::sum(neap::square(p)) - log_posterior(w, d); };
  Array accept = neap::log(nr::uniform(keys[1], {})) < energy(chain.at, start) - energy(at, momentum);
  return {neap::where(accept, at, chain.at), keys[2]};
}

int main() {
  constexpr int64_t n = 100, chains = 256, warmup = 50, draws = 200;
  Data d;
  d.x = nr::normal(nr::key(1), {n, 2});
  d.y = neap::matmul(d.x, neap::array({0.8f, -1.2f})) + nr::normal(nr::key(2), {n});

  auto run = neap::jit([&](const Array& keys, const Data& d) {  // -> f32 [chains, draws, 2]
    return neap::vmap([&](const Array& key) {
      Chain start = neap::fori_loop(0, warmup, [&](const Array&, const Chain& c) { return draw(c, d); }, Chain{neap::zeros({2}), key});
      return neap::scan([&](const Chain& c, const Array&) {
        Chain next = draw(c, d);
        return std::pair{next, next.at};
      }, start, neap::arange(draws)).second;
    })(keys);
  });
  Array keys = nr::split(nr::key(3), chains);
  std::printf("peak %zu bytes for %lld samples\n", run.plan(keys, d).peak_bytes(), static_cast<long long>(chains * draws));
  Array samples = run(keys, d);

  // Precision x'x + 1; mean precision^-1 x'y: of a 2 x 2 matrix, by hand.
  auto p = neap::to_vector<float>(neap::matmul(neap::transpose(d.x), d.x) + neap::eye(2));
  auto b = neap::to_vector<float>(neap::matmul(neap::transpose(d.x), d.y));
  float det = p[0] * p[3] - p[1] * p[2];
  float right_mean[] = {(p[3] * b[0] - p[1] * b[1]) / det, (p[0] * b[1] - p[2] * b[0]) / det};
  float right_sd[] = {std::sqrt(p[3] / det), std::sqrt(p[0] / det)};
  auto mean = neap::to_vector<float>(neap::mean(samples, {0, 1})), sd = neap::to_vector<float>(neap::std(samples, {0, 1}));
  bool good = true;
  for (int i = 0; i < 2; ++i) {
    std::printf("w[%d] mean %.4f (exactly %.4f), sd %.4f (%.4f)\n", i, mean[i], right_mean[i], sd[i], right_sd[i]);
    good = good && std::abs(mean[i] - right_mean[i]) < 0.05f * right_sd[i] && std::abs(sd[i] / right_sd[i] - 1) < 0.03f;
  }
  return good ? 0 : 1;
}
