// A program of a user in a project of its own: it compiles, plans and runs, and meets an error.
#include <neap/neap.h>

#include <cstdio>

int main() {
  const auto slope = neap::jit(neap::grad([](const neap::Array& x) { return neap::sum(neap::sin(x) * 3.0f); }));
  const neap::Array x = neap::array({0.0f, 1.0f});
  const std::vector<float> y = slope(x).to_vector<float>();
  const bool right = y[0] == 3.0f && neap::matmul(x, x).item<double>() == 1.0;
  bool caught = false;
  try {
    neap::reshape(x, {3});
  } catch (const neap::ShapeError&) {  // its type crosses the border of a shared library
    caught = true;
  }
  std::printf("neap %d.%d.%d: %g %g, peak %zu bytes\n", NEAP_VERSION_MAJOR, NEAP_VERSION_MINOR, NEAP_VERSION_PATCH,
              y[0], y[1], slope.plan(x).peak_bytes());
  return right && caught && neap::version() == NEAP_VERSION ? 0 : 1;
}
