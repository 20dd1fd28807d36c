// Transforms compose: Hessian-vector products, per-example gradients, a Jacobian in either mode.
#include <neap/neap.h>
#include <cstdio>
#include <tuple>
using neap::Array;

Array rosenbrock(const Array& x) {
  Array a = x[{neap::slice(1, neap::end)}], b = x[{neap::slice(0, -1)}];
  return neap::sum(100.0f * neap::square(a - neap::square(b)) + neap::square(1.0f - b));
}

int main() {
  Array x = neap::random::uniform(neap::random::key(1), {32});
  Array v = neap::ones({32});
  auto hvp = neap::jit([](const Array& x, const Array& v) { return neap::jvp(neap::grad(rosenbrock), std::tuple{x}, std::tuple{v}).tangent; });
  Array h = neap::hessian(rosenbrock)(x);
  Array batch = neap::random::uniform(neap::random::key(2), {1000, 32});
  Array each = neap::jit(neap::vmap(neap::grad(rosenbrock)))(batch);
  float scale = neap::max(neap::abs(h)).item<float>();
  float product = neap::max(neap::abs(hvp(x, v) - neap::matmul(h, v))).item<float>();
  float modes = neap::max(neap::abs(neap::jacfwd(neap::grad(rosenbrock))(x) - neap::jacrev(neap::grad(rosenbrock))(x))).item<float>();
  std::printf("%g %g\n", product, modes);
  std::printf("(%lld, %lld)\n", (long long)each.shape()[0], (long long)each.shape()[1]);
  return product < 1e-5f * scale && modes < 1e-5f * scale && each.shape() == neap::Shape{1000, 32} ? 0 : 1;
}
