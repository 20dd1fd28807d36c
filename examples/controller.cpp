// Model predictive control: a cart balances a pole that leans by 0.4 rad, by thirty steps of gradient descent through what it
// expects of the next 1.2 seconds, every 40 milliseconds. With a file name the step becomes STEM.o and STEM.h, for a
// program of C that has neither Neap nor LLVM (controller_main.c): controller STEM [TARGET [CPU]]
#include <neap/aot.h>
#include <neap/neap.h>
#include <cmath>
#include <cstdio>
#include "cart_pole.h"
using neap::Array;

struct State { Array position, speed, angle, turning; };

// What the controller believes: one Euler step, of the same physics as cart_pole_moves.
State moves(const State& s, const Array& force) {
  const float dt = CART_POLE_SECONDS, all = cart_mass + pole_mass;
  Array c = neap::cos(s.angle), n = neap::sin(s.angle);
  Array push = (force + pole_mass * pole_half * neap::square(s.turning) * n) / all;
  Array turn = (cart_gravity * n - c * push) / (pole_half * (4.0f / 3.0f - pole_mass / all * neap::square(c)));
  Array speed = s.speed + dt * (push - pole_mass * pole_half / all * turn * c), turning = s.turning + dt * turn;
  return {s.position + dt * speed, speed, s.angle + dt * turning, turning};
}

Array cost(const Array& forces, const Array& state) {  // f32 [steps], f32 [4]
  State now{state[0], state[1], state[2], state[3]};
  auto step = [](const State& s, const Array& force) {
    State next = moves(s, force);
    Array bad = 10.0f * neap::square(next.angle) + 2.0f * neap::square(next.position) + 0.5f * neap::square(next.speed) +
                0.1f * neap::square(next.turning) + 0.001f * neap::square(force);
    return std::pair{next, bad};
  };
  return neap::sum(neap::scan(step, now, forces).second);
}

// The forces of the step before, one step later, improved; the first of them is what the motor does now.
Array control(const Array& forces, const Array& state) {
  Array begin = neap::concatenate({neap::slice_in_dim(forces, 1, CART_POLE_STEPS, 0), neap::zeros({1})}, 0);
  return neap::fori_loop(0, 30, [&](const Array&, const Array& f) {
    return neap::clip(f - 0.005f * neap::grad(cost)(f, state), -10.0f, 10.0f);
  }, begin);
}

int main(int argc, char** argv) {
  auto step = neap::jit(control, {.name = "controller"});
  if (argc > 1) {
    neap::SaveOptions options{.arguments = {"forces", "state"}, .results = {"better"}};
    if (argc > 2) options.target = argv[2];
    if (argc > 3) options.cpu = argv[3];
    neap::Saved saved = neap::save(step, argv[1], options, neap::spec({CART_POLE_STEPS}, neap::f32), neap::spec({4}, neap::f32));
    std::printf("%s: a call holds %zu bytes, %zu of them in the arena\n", saved.object.c_str(), saved.peak_bytes,
                saved.arena_bytes);
    return 0;
  }
  float s[4] = {0, 0, 0.4f, 0};
  Array forces = neap::zeros({CART_POLE_STEPS});
  for (int tick = 0; tick < 250; ++tick) {
    forces = step(forces, neap::array(std::span<const float>(s)));
    if (tick % 50 == 0) std::printf("%4.1f s  angle %6.3f  position %6.3f  force %6.2f\n", tick * CART_POLE_SECONDS, s[2], s[0], forces[0].item<float>());
    cart_pole_moves(s, forces[0].item<float>());
  }
  std::printf("ends at angle %.3f, position %.3f\n", s[2], s[0]);
  return std::abs(s[2]) < 0.02f && std::abs(s[0]) < 0.2f ? 0 : 1;
}
