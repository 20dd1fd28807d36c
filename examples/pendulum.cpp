// Optimal control: the torques that swing a hanging rigid pendulum upright and leave it there at rest, found by gradient
// descent through 100 steps of a scan. The torque is too weak to lift it at once, so it must learn to swing.
#include <neap/neap.h>
#include <cmath>
#include <cstdio>
#include "optimizers.h"
using neap::Array;

struct State { Array angle, speed; };  // 0 hangs, pi stands
constexpr float dt = 0.04f, gravity = 9.81f, strongest = 5.0f;

std::pair<State, Array> swing(const Array& controls) {  // f32 [steps] -> where it ends, and its path
  auto step = [](const State& s, const Array& u) {
    Array speed = s.speed + dt * (strongest * neap::tanh(u) - gravity * neap::sin(s.angle));
    State next{s.angle + dt * speed, speed};
    return std::pair{next, next.angle};
  };
  return neap::scan(step, State{neap::zeros({}), neap::zeros({})}, controls);
}

Array cost(const Array& controls) {
  auto [last, path] = swing(controls);
  return neap::square(last.angle - float(M_PI)) + 0.1f * neap::square(last.speed) +
         1e-4f * neap::mean(neap::square(neap::tanh(controls)));
}

int main() {
  optim::Adam adam{.rate = 0.05f};
  using Pair = std::pair<Array, optim::Adam::State<Array>>;
  auto train = neap::jit([&](const Array& u, const optim::Adam::State<Array>& state) {  // 200 steps of descent, one program
    return neap::fori_loop(0, 200, [&](const Array&, const Pair& p) {
      return adam.update(p.first, neap::grad(cost)(p.first), p.second);
    }, Pair{u, state});
  }, {.donate = {0, 1}});
  Array u = 0.5f * neap::sin(neap::linspace(0.0f, 12.0f, 100));
  auto state = adam.init(u);
  for (int i = 0; i < 5; ++i) {
    std::tie(u, state) = train(std::move(u), std::move(state));
    std::printf("after %4d steps cost %.6f\n", 200 * (i + 1), cost(u).item<float>());
  }
  auto [last, path] = neap::jit(swing)(u);
  float angle = last.angle.item<float>(), speed = last.speed.item<float>();
  std::printf("ends at %.4f rad (upright is %.4f) with %.4f rad/s; on the way it swung back to %.2f rad\n", angle, M_PI, speed,
              neap::min(path).item<float>());
  return std::abs(angle - M_PI) < 0.05 && std::abs(speed) < 0.2 ? 0 : 1;
}
