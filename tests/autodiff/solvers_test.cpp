// Derivatives of solvers by the implicit function theorem, against those of linalg::solve().
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>

namespace neap {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

constexpr int64_t kSize = 7;

Array numbers(uint64_t seed, const Shape& shape) { return random::normal(random::key(seed), shape, f64); }
Array regular(uint64_t seed) { return numbers(seed, {kSize, kSize}) + 6 * eye(kSize, {}, f64); }

void expect_equal(const Array& got, const Array& expected, double tolerance = 1e-9) {
  ASSERT_EQ(got.aval(), expected.aval());
  EXPECT_THAT(got.to_vector<double>(), Pointwise(DoubleNear(tolerance), expected.to_vector<double>()));
}

// Solves by iterations that have no reverse derivative of their own.
Array by_iteration(const Array& a, const Array& b) {
  const auto jacobi = [](const auto& matvec, const Array& right) {
    const double scale = 1 / 8.0;
    return while_loop([&](const Array& x) { return max(abs(right - matvec(x))) > 1e-14; },
                      [&](const Array& x) { return x + scale * (right - matvec(x)); }, right * 0);
  };
  return custom_linear_solve([&](const Array& x) { return matmul(a, x); }, b, jacobi, jacobi);
}
Array directly(const Array& a, const Array& b) { return linalg::solve(a, b); }

using Solver = Array (*)(const Array&, const Array&);
auto total(Solver solver) {
  return [=](const Array& a, const Array& b) { return sum(sin(solver(a, b))); };
}

Array steady(uint64_t seed) { return 0.3 * numbers(seed, {kSize, kSize}) + 8 * eye(kSize, {}, f64); }

TEST(CustomLinearSolve, FirstDerivativesInBothModes) {
  const Array a = steady(1), b = numbers(2, {kSize}), da = numbers(3, {kSize, kSize}), db = numbers(4, {kSize});
  expect_equal(by_iteration(a, b), directly(a, b));
  for (const auto& compiled : {false, true}) {
    const auto both = [&](Solver solver) {
      const auto f = grad<0, 1>(total(solver));
      return compiled ? jit(f)(a, b) : f(a, b);
    };
    const auto [of_a, of_b] = both(by_iteration);
    const auto [of_a2, of_b2] = both(directly);
    expect_equal(of_a, of_a2), expect_equal(of_b, of_b2);
  }
  expect_equal(jvp(by_iteration, std::tuple{a, b}, std::tuple{da, db}).tangent,
               jvp(directly, std::tuple{a, b}, std::tuple{da, db}).tangent);
  expect_equal(linearize(by_iteration, a, b).second(da, db), linearize(directly, a, b).second(da, db));
}

TEST(CustomLinearSolve, SecondDerivativesOfEveryKind) {
  const Array a = steady(1), b = numbers(2, {kSize});
  const auto gradient = [&](Solver solver) { return [=](const Array& m) { return grad(total(solver))(m, b); }; };
  const auto norm = [&](Solver solver) { return [=](const Array& m) { return sum(square(gradient(solver)(m))); }; };
  expect_equal(grad(norm(by_iteration))(a), grad(norm(directly))(a));  // reverse over reverse
  expect_equal(jacfwd(gradient(by_iteration))(a), jacfwd(gradient(directly))(a));
  const auto forward = [&](Solver solver) {
    return [=](const Array& m) { return jvp([&](const Array& n) { return solver(n, b); }, m, ones_like(m)).tangent; };
  };
  const auto reduced = [&](Solver solver) { return [=](const Array& m) { return sum(sin(forward(solver)(m))); }; };
  expect_equal(grad(reduced(by_iteration))(a), grad(reduced(directly))(a));  // reverse over forward
}

TEST(CustomLinearSolve, BatchesOfMatricesAndOfSides) {
  const Array as = stack({steady(1), steady(5), steady(6)}), bs = numbers(2, {3, kSize});
  const auto of = [&](Solver solver) {
    return std::vector{vmap(solver)(as, bs),
                       vmap([&](const Array& a) { return solver(a, bs[0]); })(as),
                       vmap([&](const Array& b) { return solver(as[0], b); })(bs),
                       vmap(grad(total(solver)))(as, bs),
                       vmap([&](const Array& b) { return grad(total(solver))(as[0], b); })(bs),
                       grad([&](const Array& all) { return sum(sin(vmap(solver)(all, bs))); })(as)};
  };
  const auto got = of(by_iteration), expected = of(directly);
  for (size_t i = 0; i < got.size(); ++i) expect_equal(got[i], expected[i]);
}

TEST(CustomLinearSolve, WithinLoopsAndCheckpoints) {
  const Array a = steady(1), b = numbers(2, {kSize});
  const auto looped = [&](Solver solver) {
    return [=](const Array& m) {
      return sum(fori_loop(0, 3, [&](const Array&, const Array& x) { return sin(solver(m, x)); }, b));
    };
  };
  expect_equal(grad(looped(by_iteration))(a), grad(looped(directly))(a));
  expect_equal(grad(checkpoint(looped(by_iteration)))(a), grad(looped(directly))(a));
}

TEST(CustomLinearSolve, ForwardModeNeedsNoTransposedSystem) {
  const Array a = steady(1), b = numbers(2, {kSize});
  const auto f = [](const Array& m, const Array& y) {
    return custom_linear_solve([&](const Array& x) { return matmul(m, x); }, y,
                               [&](const auto&, const Array& right) { return linalg::solve(stop_gradient(m), right); });
  };
  expect_equal(jacfwd(f)(a, b), jacfwd(directly)(a, b));
  EXPECT_THROW(grad([&](const Array& m) { return sum(f(m, b)); })(a), UserError);
}

// A symmetric system whose function has no reverse derivative: its transpose is never made.
TEST(CustomLinearSolve, SymmetricSystemsNeedNoTranspose) {
  const auto doubled = [](const Array& x) {  // 2 x
    return while_loop([](const std::pair<Array, Array>& s) { return s.second < 1; },
                      [](const std::pair<Array, Array>& s) { return std::pair(s.first * 2, s.second + 1); },
                      std::pair(x, zeros({}, f64)))
        .first;
  };
  const Array b = numbers(2, {kSize});
  const auto f = [&](const Array& y) { return sum(sin(cg(doubled, y, {}, {.tol = 1e-13}))); };
  expect_equal(cg(doubled, b), b / 2);
  expect_equal(jit(grad(f))(b), cos(b / 2) / 2);
  expect_equal(vmap(grad(f))(stack({b, 2 * b})), stack({cos(b / 2) / 2, cos(b) / 2}));
  expect_equal(gmres(doubled, b), b / 2);  // a value needs no transpose at all
  EXPECT_THROW(grad([&](const Array& y) { return sum(gmres(doubled, y)); })(b), UserError);
}

TEST(CustomLinearSolve, InRulesOfCustomJvps) {
  const Array a = regular(1), b = numbers(2, {kSize});
  const auto solve = [&](const Array& y) { return bicgstab(a, y, {}, {.tol = 1e-13}); };
  const auto h = custom_jvp(solve, [&](const Array&, const Array& dy) { return solve(dy); });
  const auto f = custom_jvp([](const Array& x) { return sin(x); },
                            [&](const Array& x, const Array& dx) { return cos(x) * h(dx); });
  expect_equal(grad([&](const Array& x) { return sum(f(x)); })(b), linalg::solve(transpose(a), cos(b)));
}

Array square_root(const Array& a) {
  return custom_root([&](const Array& x) { return x * x - a; }, ones_like(a),
                     [](const auto& f, const Array& first) {
                       return fori_loop(0, 30, [&](const Array&, const Array& x) { return x - f(x) / (2 * x); }, first);
                     },
                     [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
}

TEST(CustomRoot, LoopsBranchesAndRootsWithin) {
  const auto root_of = [](const auto& f, const Array& first) {
    return custom_root(
        f, first,
        [](const auto& g, const Array& x0) {
          return fori_loop(0, 60, [&](const Array&, const Array& x) { return x - g(x) / 2; }, x0);
        },
        [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
  };
  const auto looped = [&](const Array& a) {  // x a^3 = a
    return root_of(
        [&](const Array& x) { return fori_loop(0, 3, [&](const Array&, const Array& c) { return c * a; }, x) - a; },
        ones_like(a));
  };
  const auto branched = [&](const Array& a) {
    return root_of(
        [&](const Array& x) {
          return cond(a > 0, [&](const Array& y) { return y * a - 1; }, [&](const Array& y) { return y + a; }, x);
        },
        ones_like(a));
  };
  const auto nested = [&](const Array& a) {
    return root_of([&](const Array& x) { return x - square_root(a); }, ones_like(a));
  };
  const Array a = array(1.1);
  for (const bool compiled : {false, true}) {
    const auto slope = [&](const auto& f) { return compiled ? jit(grad(f))(a) : grad(f)(a); };
    expect_equal(looped(a), 1 / square(a)), expect_equal(slope(looped), -2 / (a * a * a));
    expect_equal(slope(branched), -1 / square(a));
    expect_equal(slope(nested), 0.5 / sqrt(a));
  }
  expect_equal(jit(grad(grad(square_root)))(a), -0.25 * power(a, -1.5));
}

TEST(CustomRoot, OfWhatNothingMoves) {
  const auto fixed = [](const Array& guess) {
    return custom_root([](const Array& x) { return 2 * x - 1; }, guess,
                       [](const auto& f, const Array& x) { return x - f(x) / 2; },
                       [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
  };
  const Array x = array({3.0, 4.0});
  expect_equal(jit(fixed)(x), full({2}, 0.5, f64));
  expect_equal(jit(grad([&](const Array& y) { return sum(fixed(y)); }))(x), zeros({2}, f64));
  expect_equal(vmap(fixed)(x), full({2}, 0.5, f64));
}

struct Two {
  Array u, v;
};

TEST(Krylov, SolvesForTrees) {
  const Array a = regular(1), b = numbers(2, {kSize});
  const auto split = [](const Array& x) { return Two{reshape(x[{slice(0, 4)}], {2, 2}), x[{slice(4, end)}]}; };
  const auto whole = [](const Two& x) { return concatenate({ravel(x.u), x.v}); };
  const auto matvec = [&](const Two& x) { return split(matmul(a, whole(x))); };
  const KrylovOptions exact{.tol = 1e-13};
  expect_equal(whole(gmres(matvec, split(b), {}, exact)), directly(a, b));
  expect_equal(whole(bicgstab(matvec, split(b), {}, exact)), directly(a, b));
  const Array positive = matmul(a, transpose(a));
  expect_equal(whole(cg([&](const Two& x) { return split(matmul(positive, whole(x))); }, split(b), {}, exact)),
               directly(positive, b));
}

TEST(Krylov, HalvesAndComplexNumbers) {
  const Array a = regular(1), b = numbers(2, {kSize});
  const Array half = gmres(a.astype(bf16), b.astype(bf16), {}, {.tol = 1e-2});
  EXPECT_EQ(half.dtype(), bf16);
  expect_equal(half.astype(f64), directly(a, b), 0.02);
  const Array z = complex(a, 0.5 * numbers(8, {kSize, kSize})), y = complex(b, -b);
  const KrylovOptions exact{.tol = 1e-13};
  const auto residual = [&](const Array& m, const Array& x) {
    const Array r = matmul(m, x) - y;
    EXPECT_LE(std::sqrt(sum(real(r * conj(r))).item<double>()), 1e-11);
  };
  residual(z, gmres(z, y, {}, exact));
  residual(z, bicgstab(z, y, {}, exact));
  const Array hermitian = matmul(z, conj(transpose(z)));
  residual(hermitian, cg(hermitian, y, {}, exact));
}

TEST(Krylov, EndsWhereThereIsNothingToDo) {
  const Array zero = zeros({kSize}, f64);
  for (const bool compiled : {false, true}) {
    const auto all = [](const Array& a, const Array& b) { return Two{cg(a, b), gmres(a, b)}; };
    const Two out = compiled ? jit(all)(regular(1), zero) : all(regular(1), zero);
    expect_equal(out.u, zero), expect_equal(out.v, zero);
  }
  expect_equal(bicgstab(regular(1), zero), zero);
  const Array b = numbers(2, {kSize});
  expect_equal(gmres(eye(kSize, {}, f64), b), b);               // one vector spans the space
  expect_equal(bicgstab(zeros({kSize, kSize}, f64), b), zero);  // breaks down at once
  expect_equal(gmres(zeros({kSize, kSize}, f64), b), zero);
}

}  // namespace
}  // namespace neap
