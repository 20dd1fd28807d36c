// What JAX answers for solvers: tests/golden/solvers.json, made by tools/golden_solvers.py, which names the calls.
#include "tests/jit/golden.h"

namespace neap {
namespace {

using Inputs = std::map<std::string, Array>;

std::function<void(const Array&, const Array&)> near_within(double tolerance) {
  return [=](const Array& got, const Array& expected) {
    ASSERT_EQ(got.aval(), expected.aval());
    const std::vector<double> a = got.to_vector<double>(), b = expected.to_vector<double>();
    double largest = 0;
    for (const double v : b) largest = std::max(largest, std::abs(v));
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_LE(std::abs(a[i] - b[i]), tolerance * largest) << "element " << i << ": " << a[i] << ", " << b[i];
  };
}

// The part of a golden file with these calls.
json with_calls(const json& golden, const Calls& calls) {
  json part = golden;
  part["calls"] = json::object();
  for (const auto& [name, call] : calls) part["calls"][name] = golden["calls"].at(name);
  return part;
}

const KrylovOptions kExact{.tol = 1e-13};

TEST(GoldenSolvers, IterationsAreThoseOfJax) {
  const json golden = read_golden("solvers.json");
  Inputs in = inputs_of(golden);
  const Array &a = in["positive"], &s = in["square"], &b = in["b"], &x0 = in["x0"];
  Calls calls;
  calls["cg"] = [&] {
    Arrays out;
    for (const int64_t n : {1, 3, 6}) out.push_back(cg(a, b, {}, {.maxiter = n}));
    return out;
  };
  calls["cg from x0"] = [&] {
    const Array scale = 1 / diagonal(a);
    return Arrays{cg([&](const Array& x) { return matmul(a, x); }, b, x0, {.maxiter = 4}),
                  cg(a, b, {}, {.maxiter = 4}, [&](const Array& r) { return scale * r; })};
  };
  calls["cg ends"] = [&] { return Arrays{cg(a, b, {}, {.tol = 1e-2}), cg(a, b, {}, {.tol = 0, .atol = 0.5})}; };
  const auto scaled = [&](const Array& r) { return r / diagonal(s); };
  calls["bicgstab"] = [&] {
    return Arrays{bicgstab(s, b, {}, {.maxiter = 1}), bicgstab(s, b, {}, {.maxiter = 3}),
                  bicgstab(s, b, x0, {.maxiter = 2}, scaled)};
  };
  calls["gmres"] = [&] {
    return Arrays{gmres(s, b, {}, {.maxiter = 1, .restart = 2}), gmres(s, b, {}, {.maxiter = 1, .restart = 5}),
                  gmres(s, b, x0, {.maxiter = 2, .restart = 3}, scaled)};
  };
  expect_answers(with_calls(golden, calls), calls, near_within(1e-10));
}

TEST(GoldenSolvers, DerivativesAreThoseOfJax) {
  const json golden = read_golden("solvers.json");
  Inputs in = inputs_of(golden);
  const Array &a = in["positive"], &s = in["square"], &b = in["b"];
  Calls calls;
  calls["grad cg"] = [&] {
    const auto [of_a, of_b] =
        grad<0, 1>([](const Array& m, const Array& y) { return sum(sin(cg(m, y, {}, kExact))); })(a, b);
    return Arrays{of_a, of_b};
  };
  const auto of_square = [](const Array& m, const Array& y) { return sum(sin(bicgstab(m, y, {}, kExact))); };
  calls["grad bicgstab"] = [&] {
    const auto [of_a, of_b] = grad<0, 1>(of_square)(s, b);
    return Arrays{of_a, of_b};
  };
  calls["hessian bicgstab"] = [&] { return Arrays{hessian([&](const Array& y) { return of_square(s, y); })(b)}; };
  calls["vmap cg"] = [&] { return Arrays{vmap([&](const Array& y) { return cg(a, y, {}, kExact); })(in["rows"])}; };
  calls["custom_root"] = [&] {
    const auto root = [](const Array& powers) {
      return custom_root([&](const Array& x) { return x * x * x - powers; }, ones_like(powers),
                         [](const auto& f, const Array& first) {
                           return while_loop([&](const Array& x) { return max(abs(f(x))) > 1e-13; },
                                             [&](const Array& x) { return x - f(x) / (3 * x * x); }, first);
                         },
                         [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
    };
    const auto total = [&](const Array& powers) { return sum(root(powers)); };
    const Array& powers = in["powers"];
    return Arrays{root(powers), grad(total)(powers), hessian(total)(powers)};
  };
  expect_answers(with_calls(golden, calls), calls, near_within(1e-10));
}

TEST(GoldenSolvers, EquationsOfMotionAndMinima) {
  const json golden = read_golden("solvers.json");
  Inputs in = inputs_of(golden);
  const auto motion = [](const Array& y0, const Array& t, const Array& stiffness) {
    return odeint(
        [&](const Array& y, const Array& now) { return stack({y[1], -stiffness * sin(y[0]) - 0.1 * y[1] + cos(now)}); },
        y0, t);
  };
  const Array two = array(2.0);
  Calls calls;
  calls["odeint"] = [&] { return Arrays{motion(in["state"], in["times"], two)}; };
  calls["grad odeint"] = [&] {
    const auto [of_y, of_t, of_k] = grad<0, 1, 2>([&](const Array& y, const Array& t, const Array& k) {
      return sum(sin(motion(y, t, k)));
    })(in["state"], in["times"], two);
    return Arrays{of_y, of_t, of_k};
  };
  calls["minimize"] = [&] {
    const auto bowl = [](const Array& x) { return sum(cosh(x - arange(3.0))) + square(sum(x)) / 2; };
    return Arrays{minimize(bowl, in["start"], {.gtol = 1e-8}).x};
  };
  // Tolerances of 1.4e-8 and 1e-5: neither library's steps are the other's.
  expect_answers(with_calls(golden, calls), calls, near_within(2e-6));
}

}  // namespace
}  // namespace neap
