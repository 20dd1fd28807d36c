// The snippets of docs/how-it-works.md, in order, with their answers checked.
#include <neap/neap.h>
#include <cmath>
#include <iostream>
using neap::Array;

int main() {
  bool right = true;
  auto near = [&](const Array& a, size_t i, double expected) {
    double got = a.to_vector<double>()[i];
    if (std::abs(got - expected) < 1e-5 * (1 + std::abs(expected))) return;
    std::cerr << "got " << got << ", expected " << expected << "\n";
    right = false;
  };

  // Evaluate
  Array x = neap::array({1.0f, 2.0f, 3.0f});
  Array y = neap::sin(x) * 2;
  near(y, 1, 2 * std::sin(2.0));

  // Trace
  auto f = [](const Array& v) { return neap::sum(neap::sin(v) * v); };
  auto derivative = [](double v) { return std::cos(v) * v + std::sin(v); };

  // Differentiate forwards
  auto [value, tangent] = neap::jvp(f, std::tuple{x}, std::tuple{neap::ones({3})});
  near(value, 0, std::sin(1.0) + 2 * std::sin(2.0) + 3 * std::sin(3.0));
  near(tangent, 0, derivative(1) + derivative(2) + derivative(3));

  // Batch
  Array rows = neap::reshape(neap::arange(6, neap::f32), {2, 3});
  Array each = neap::vmap(f)(rows);
  near(each, 0, std::sin(1.0) + 2 * std::sin(2.0));

  // Differentiate backwards
  Array d = neap::grad(f)(x);
  near(d, 2, derivative(3));
  Array hv = neap::jvp(neap::grad(f), std::tuple{x}, std::tuple{neap::ones({3})}).tangent;
  near(hv, 0, 2 * std::cos(1.0) - std::sin(1.0));

  // Randomness is a function
  Array z = neap::random::normal(neap::random::key(42), {1000}, neap::bf16);
  Array again = neap::random::normal(neap::random::key(42), {1000}, neap::bf16);
  near(neap::all(z == again), 0, 1);

  // Plan
  auto df = neap::jit(neap::grad(f));
  neap::Plan plan = df.plan(neap::spec({1'000'000}, neap::f32));
  std::cout << plan;
  right = right && plan.peak_bytes() == 8'000'000;

  // Compile and run
  Array g = df(x);
  near(g, 1, derivative(2));
  return right ? 0 : 1;
}
