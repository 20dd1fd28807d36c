// Gradients through time: a pendulum's release angle, found through a scan; many at once by vmap.
#include <neap/neap.h>
#include <cstdio>
using neap::Array;

struct State { Array angle, speed; };

Array final_angle(const Array& start) {
  auto step = [](const State& s, const Array&) {
    Array speed = s.speed - 0.01f * 9.81f * sin(s.angle);
    State next{s.angle + 0.01f * speed, speed};
    return std::pair{next, next.angle};
  };
  auto [last, path] = neap::scan(step, State{start, neap::zeros_like(start)}, neap::arange(200));
  return last.angle;
}

int main() {
  auto miss = [](const Array& a) { return neap::square(final_angle(a) - 0.25f); };
  auto solve = neap::jit([&](const Array& a) {
    return neap::fori_loop(0, 50, [&](const Array&, const Array& x) { return x - 0.2f * neap::grad(miss)(x); }, a);
  });
  Array starts = neap::linspace(-0.5f, 0.5f, 8);
  Array found = neap::vmap(solve)(starts);
  bool hit = true;
  for (float m : neap::to_vector<float>(neap::vmap(miss)(found))) {
    std::printf("%.2e\n", m);
    hit = hit && m < 1e-6f;
  }
  return hit ? 0 : 1;
}
