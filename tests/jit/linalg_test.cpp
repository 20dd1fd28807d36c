// neap/linalg.h as a user calls it: shapes, dtypes, errors, plans that are kept to, derivatives that cost what they
// should. Values are compared with JAX's in golden_linalg_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/thread_pool.h"
#include "planner/plan/plan.h"
#include "tests/jit/measure.h"

namespace neap {
namespace {

using namespace neap::literals;
namespace nr = neap::random;
using testing::HasSubstr;
using Arrays = std::vector<Array>;

Array matrices(const Shape& shape, uint64_t seed = 1, DType dtype = f64) {
  return nr::normal(nr::key(seed), shape, dtype);
}
Array positive(const Shape& shape, DType dtype = f64) {
  const Array x = matrices(shape, 2, dtype);
  return matmul(x, swapaxes(x, -1, -2)) / static_cast<double>(shape.back()) + eye(shape.back(), {}, dtype);
}
double farthest(const Array& a, const Array& b) {
  EXPECT_EQ(a.aval(), b.aval());
  if (a.size() == 0) return 0;
  return max(abs(a - b)).astype(f64).item<double>();
}

// All of it, as one function.
Arrays everything(const Arrays& in) {
  const Array &a = in[0], &p = in[1], &t = in[2];
  const linalg::Lu lu = linalg::lu(t);
  const linalg::Qr qr = linalg::qr(t), full = linalg::qr(t, linalg::QrMode::complete);
  const linalg::Eigh eigh = linalg::eigh(a);
  const linalg::Svd svd = linalg::svd(t);
  const linalg::Slogdet slogdet = linalg::slogdet(a);
  return {linalg::cholesky(p),
          lu.lu,
          lu.permutation,
          qr.q,
          qr.r,
          full.q,
          full.r,
          eigh.eigenvalues,
          eigh.eigenvectors,
          svd.u,
          svd.s,
          svd.vh,
          linalg::solve(a, t),
          linalg::solve(p, t, true),
          linalg::inv(a),
          linalg::pinv(t),
          linalg::det(a),
          slogdet.logabsdet,
          linalg::matrix_rank(t),
          linalg::expm(a),
          linalg::norm(t, linalg::Norm::nuclear, Shape{-2, -1})};
}

TEST(Linalg, PlannedIsMeasuredOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const DType dtype : {f32, f64}) {
    for (const Shape& batch : {Shape{}, Shape{2, 3}}) {
      for (const int64_t n : {0, 1, 33}) {
        const auto shape = [&](int64_t rows, int64_t columns) {
          Shape all = batch;
          all.insert(all.end(), {rows, columns});
          return all;
        };
        const Arrays in{matrices(shape(n, n), 1, dtype), positive(shape(n, n), dtype),
                        matrices(shape(n, n / 2 + 1), 3, dtype)};
        const auto f = jit(everything);
        set_num_threads(1);
        const Arrays one = f(in);
        set_num_threads(2);
        const Measured m = measure(f, in);
        for (size_t i = 0; i < one.size(); ++i) {
          EXPECT_TRUE(same_bits(one[i], m.outputs[i])) << i;
        }
        EXPECT_LT(farthest(matmul(m.outputs[0], swapaxes(m.outputs[0], -1, -2)), in[1]), dtype == f32 ? 1e-5 : 1e-13);
      }
    }
  }
  set_num_threads(before);
  const Arrays in{matrices({5, 5}), positive({5, 5}), matrices({5, 3}, 3)};
  const Measured naive = measure(jit(everything, {.pipeline = Pipeline::naive}), in);
  const Arrays planned = jit(everything)(in);
  for (size_t i = 0; i < planned.size(); ++i) EXPECT_LT(farthest(planned[i], naive.outputs[i]), 1e-10) << i;
}

TEST(Linalg, CompiledIsTheReference) {
  const Arrays in{matrices({2, 17, 17}), positive({2, 17, 17}), matrices({2, 17, 9}, 3)};
  const Arrays got = jit(everything)(in);
  const eager_reference reference;
  const Arrays expected = everything(in);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_LT(farthest(got[i], expected[i]), 1e-12 * (1 + max(abs(expected[i])).item<double>())) << i;
}

TEST(Linalg, HalvesAreRoundedOnce) {
  const Array p = positive({2, 9, 9}, f32);
  for (const DType dtype : {f16, bf16}) {
    const Array half = p.astype(dtype);
    EXPECT_TRUE(same_bits(linalg::cholesky(half), linalg::cholesky(half.astype(f32)).astype(dtype)));
    EXPECT_TRUE(same_bits(linalg::eigvalsh(half), linalg::eigvalsh(half.astype(f32)).astype(dtype)));
    EXPECT_TRUE(same_bits(linalg::inv(half), linalg::inv(half.astype(f32)).astype(dtype)));
    EXPECT_EQ(linalg::svd(half).u.dtype(), dtype);
  }
  EXPECT_EQ(linalg::det(array({1, 2, 3, 4}, Shape{2, 2})).dtype(), f32);
}

TEST(Linalg, ASystemHasOneFactorForAllRightSides) {
  const Array a = matrices({40, 40}) + 20 * eye(40, {}, f64), b = matrices({50, 40, 3}, 4);
  const auto f = jit([](const Array& m, const Array& rhs) { return linalg::solve(m, rhs); });
  const Measured m = measure(f, a, b);
  EXPECT_LT(farthest(matmul(a, m.outputs[0]), b), 1e-12);
  // vmap over the right sides neither repeats the matrix nor its factor.
  const auto mapped =
      jit(vmap([](const Array& m, const Array& rhs) { return linalg::solve(m, rhs); }, {.in_axes = {none, 0}}));
  EXPECT_LT(farthest(mapped(a, b), m.outputs[0]), 1e-13);
  EXPECT_EQ(mapped.last_plan().to_json().find("[50, 40, 40]"), std::string::npos) << mapped.last_plan();
}

// The derivative of a solution takes no other factor.
TEST(Linalg, GradientsFactorOnce) {
  const auto count = [](const Plan& plan, const std::string& op) {
    return std::ranges::count(plan.data().steps, op, &planner::PlanStep::op);
  };
  const auto loss = [](const Array& a, const Array& b) { return sum(square(linalg::solve(a, b))); };
  const auto f = jit(grad<0, 1>(loss));
  const Array a = matrices({30, 30}) + 15 * eye(30, {}, f64), b = matrices({30}, 3);
  measure(f, a, b);
  EXPECT_EQ(count(f.last_plan(), "lu"), 1) << f.last_plan();
  EXPECT_EQ(count(f.last_plan(), "triangular_solve"), 4) << f.last_plan();
  const auto values = jit(grad([](const Array& x) { return sum(sin(linalg::eigvalsh(x))); }));
  measure(values, a);
  EXPECT_EQ(count(values.last_plan(), "eigh"), 1) << values.last_plan();
}

TEST(Linalg, SecondDerivatives) {
  const Array a = positive({5, 5}), direction = matrices({5, 5}, 6);
  const auto check = [&](int number, const auto& f) {
    const auto along = [&](const Array& t) { return f(a + t * direction); };
    const Array zero = full({}, 0, f64);
    const Array second = grad([&](const Array& t) { return grad(along)(t); })(zero);
    const double h = 1e-4;
    const Array differences = (grad(along)(full({}, h, f64)) - grad(along)(full({}, -h, f64))) / (2 * h);
    const double size = 1 + std::abs(differences.item<double>());
    EXPECT_NEAR(second.item<double>(), differences.item<double>(), 1e-6 * size) << number;
  };
  check(0, [](const Array& x) { return linalg::slogdet(x).logabsdet; });
  check(1, [](const Array& x) { return linalg::det(x); });
  check(2, [](const Array& x) { return sum(sin(linalg::inv(x))); });
  check(3, [](const Array& x) { return sum(sin(linalg::cholesky(x))); });
  check(4, [](const Array& x) { return sum(sin(linalg::solve(x, x[{0}], true))); });
  check(5, [](const Array& x) {
    const Array i = arange(5).astype(f64);  // eigenvalues well apart
    return sum(linalg::eigvalsh(x + 5 * diag(i)) * i);
  });
  check(6, [](const Array& x) { return sum(sin(linalg::svdvals(x))); });
  check(7, [](const Array& x) { return sum(sin(linalg::qr(x).r)); });
  check(8, [](const Array& x) { return sum(sin(linalg::expm(x / 4))); });
}

// The tangent of a Cholesky factor and, with tangent and cotangent exchanged, its cotangent, by solves and products.
TEST(Linalg, DerivativesOfCholesky) {
  const auto cholesky = [](const Array& x) { return linalg::cholesky(x); };
  const auto turned = [](const Array& x) { return swapaxes(x, -1, -2); };
  for (const int64_t n : {0, 1, 2, 16, 17, 33, 100}) {
    for (const Shape& batch : {Shape{}, Shape{3}}) {
      Shape shape = batch;
      shape.insert(shape.end(), {n, n});
      const Array a = positive(shape), x = matrices(shape, 6), w = matrices(shape, 7), l = linalg::cholesky(a);
      const auto solved = [&](const Array& b, bool transposed) {
        return linalg::triangular_solve(l, b, {.lower = true, .transpose_a = transposed});
      };
      const Array halves = tril(ones({n, n}, f64)) - eye(n, {}, f64) / 2;
      const Array inner = solved(turned(solved((x + turned(x)) / 2, false)), false);
      const Array tangent = matmul(l, halves * inner);
      EXPECT_LT(
          farthest(jit([&](const Array& a, const Array& x) { return jvp(cholesky, a, x).tangent; })(a, x), tangent),
          1e-11)
          << n;
      const Array outer = solved(turned(solved(turned(halves * matmul(turned(l), w)), true)), true);
      const Array cotangent = (outer + turned(outer)) / 2;
      const auto product = [&](const Array& a, const Array& w) { return sum(cholesky(a) * w); };
      EXPECT_LT(farthest(jit(grad(product))(a, w), cotangent), 1e-11) << n;
      EXPECT_LT(farthest(grad(product)(a, w), cotangent), 1e-11) << n;
    }
  }
  const Array never = grad([&](const Array& a) { return sum(cholesky(a)); })(-eye(3, {}, f64));
  EXPECT_TRUE(all(isnan(never)).item<bool>());
}

// Of a factor that one, some or no examples share, and again of that.
TEST(Linalg, DerivativesOfCholeskyMapped) {
  const auto cholesky = [](const Array& x) { return linalg::cholesky(x); };
  const Array a = positive({5, 5}), many = positive({4, 5, 5}), w = matrices({4, 5, 5}, 7),
              ws = matrices({3, 4, 5, 5}, 8);
  const auto cotangent = [&](const Array& a, const Array& w) {
    return grad([&](const Array& x) { return sum(cholesky(x) * w); })(a);
  };
  const auto tangent = [&](const Array& a, const Array& w) { return jvp(cholesky, a, w).tangent; };
  const auto second = [&](const Array& a, const Array& w) {
    return jvp([&](const Array& x) { return cotangent(x, sin(w)); }, a, w).tangent;
  };
  const auto third = [&](const Array& a, const Array& w) {
    return grad([&](const Array& x) { return sum(second(x, w) * w); })(a);
  };
  const auto check = [&](const auto& f) {
    const auto each = [&](bool own, const Array& ws) {
      std::vector<Array> all;
      for (int64_t i = 0; i < 4; ++i) all.push_back(f(own ? many[{i}] : a, ws[{i}]));
      return stack(all);
    };
    const auto shared = vmap(f, {.in_axes = {none, 0}}), own = vmap(f);
    EXPECT_LT(farthest(jit(shared)(a, w), each(false, w)), 1e-11);
    EXPECT_LT(farthest(jit(own)(many, w), each(true, w)), 1e-11);
    // One factor for all; one for each of four; one for each of three and four.
    const auto rows = [&](bool own) {
      std::vector<Array> all;
      for (int64_t i = 0; i < 3; ++i) all.push_back(each(own, ws[{i}]));
      return stack(all);
    };
    EXPECT_LT(farthest(jit(vmap(shared, {.in_axes = {none, 0}}))(a, ws), rows(false)), 1e-11);
    EXPECT_LT(farthest(jit(vmap(own, {.in_axes = {none, 0}}))(many, ws), rows(true)), 1e-11);
    const Array repeated = broadcast_to(many, {3, 4, 5, 5});
    EXPECT_LT(farthest(jit(vmap(own))(repeated, ws), rows(true)), 1e-11);
    EXPECT_LT(farthest(jit(vmap(shared))(many[{slice(0, 3)}], ws)[{1}], shared(many[{1}], ws[{1}])), 1e-11);
  };
  check(cotangent);
  check(tangent);
  check(second);
  check(third);
  EXPECT_LT(farthest(jacrev(cholesky)(a), jacfwd(cholesky)(a)), 1e-12);
}

// The log likelihood of a Gaussian process, by the scale of its covariance.
Array likelihood(const Array& scale, const Array& x, const Array& y) {
  const Array distance = square(expand_dims(x, 1) - expand_dims(x, 0));
  const Array covariance = exp(-distance / (0.1 + square(scale))) + 0.1 * eye(x.size(), {}, x.dtype());
  const Array factor = linalg::cholesky(covariance);
  const Array white = linalg::triangular_solve(factor, expand_dims(y, 1), {.lower = true});
  return -0.5 * sum(square(white)) - sum(log(diagonal(factor)));
}

// Nothing is stored but the covariance, its factor, the cotangents of both, one over the other.
TEST(Linalg, TheGradientOfALikelihoodHoldsOneMatrix) {
  constexpr int64_t n = 700;
  const Array scale = full({}, 0.7, f64), x = matrices({n}), y = matrices({n}, 3);
  const auto large = spec({2000}, f32);
  EXPECT_LT(jit(grad(likelihood)).plan(spec({}, f32), large, large).peak_bytes(), 2000u * 2000 * 4 * 5 / 4);
  const size_t budget = size_t{n} * n * 8 * 3 / 2;
  const Measured one = measure(jit(grad(likelihood), {.memory_budget = budget}), scale, x, y);
  EXPECT_LE(one.planned, budget) << one.plan;
  const auto at = [&](double h) { return likelihood(scale + h, x, y).item<double>(); };
  const double difference = (at(1e-5) - at(-1e-5)) / 2e-5;
  EXPECT_NEAR(one.outputs[0].item<double>(), difference, 1e-6 * std::abs(difference));
  // Where the factor is needed afterwards, there are two.
  const auto both = [](const Array& scale, const Array& x, const Array& y) {
    const Array covariance = exp(-square(expand_dims(x, 1) - expand_dims(x, 0))) + eye(n, {}, f64);
    return std::pair(grad(likelihood)(scale, x, y), linalg::cholesky(covariance));
  };
  EXPECT_LT(measure(jit(both), scale, x, y).planned, static_cast<size_t>(n * n * 8) * 5 / 2);
  const auto second =
      jit(grad([](const Array& s, const Array& x, const Array& y) { return grad(likelihood)(s, x, y); }));
  const auto slope = jit(grad(likelihood));
  const double change = (slope(scale + 1e-5, x, y) - slope(scale - 1e-5, x, y)).item<double>() / 2e-5;
  EXPECT_NEAR(measure(second, scale, x, y).outputs[0].item<double>(), change, 1e-5 * std::abs(change));
}

// Vectors of equal values have no derivative; values, and what only seems to be made of vectors, have.
TEST(Linalg, DerivativesWhereValuesAreEqual) {
  const Array one = eye(4, {}, f64), b = matrices({4}, 4);
  const auto of_eigenvalues = [](const Array& x) { return sum(square(linalg::eigh(x).eigenvalues)); };
  EXPECT_LT(farthest(grad(of_eigenvalues)(one), 2 * one), 1e-14);
  EXPECT_LT(farthest(jit(grad(of_eigenvalues))(one), 2 * one), 1e-14);
  const auto of_singular_values = [](const Array& x) { return sum(square(linalg::svd(x, false).s)); };
  EXPECT_LT(farthest(grad(of_singular_values)(one), 2 * one), 1e-14);
  const Array low = outer(arange(5).astype(f64), array({1.0, 2.0, 0.0}));  // two singular values are 0
  EXPECT_LT(farthest(grad(of_singular_values)(low), 2 * low), 1e-13);
  EXPECT_LT(farthest(grad([](const Array& x) { return sum(square(linalg::pinv(x))); })(one), -2 * one), 1e-14);
  const Array expected = -2 * outer(b, b);
  EXPECT_LT(farthest(grad([&](const Array& x) { return sum(square(linalg::lstsq(x, b).x)); })(one), expected), 1e-14);
}

// Whatever their scale, 1 + w - w is not 1.
TEST(Linalg, DerivativesOfVectorsOfLargeAndSmallValues) {
  const auto f = [](const auto& vectors) {
    return grad([vectors](const Array& x) {
      const Array v = vectors(x);
      return sum(square(v) * outer(arange(4), arange(4)).astype(v.dtype()));
    });
  };
  const auto eigenvectors = [](const Array& x) { return linalg::eigh(x).eigenvectors; };
  const auto left = [](const Array& x) { return linalg::svd(x).u; };
  const Array a = positive({4, 4}) + diag(arange(4).astype(f64));
  for (const double scale : {1e-20, 1.0, 3e7, 1e12}) {
    const Array x = a * scale, narrow = x.astype(f32);
    for (const auto& [exact, got] :
         {std::pair{f(eigenvectors)(x), f(eigenvectors)(narrow)}, std::pair{f(left)(x), f(left)(narrow)}}) {
      EXPECT_LT(farthest(got.astype(f64) * scale, exact * scale), 1e-4) << scale;
    }
  }
}

// The derivative of a pseudo-inverse is that of any matrix of its rank and shape.
TEST(Linalg, DerivativesOfPseudoInverses) {
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{4, 4}}) {
    const Array a = matrices(shape), along = matrices(shape, 8), b = matrices({shape[0], 2}, 9);
    const auto check = [&](const auto& f) {
      const auto at = [&](double h) { return f(a + h * along); };
      const Array t = jvp(f, a, along).tangent;
      EXPECT_LT(farthest(t, (at(1e-6) - at(-1e-6)) / 2e-6), 1e-6 * (1 + max(abs(t)).item<double>()))
          << to_string(t.aval());
    };
    check([](const Array& x) { return linalg::pinv(x); });
    check([&](const Array& x) { return linalg::lstsq(x, b).x; });
    check([&](const Array& x) { return linalg::lstsq(x, b).s; });
    check([&](const Array& x) { return linalg::lstsq(a, b + x[{ellipsis, slice(0, 1)}]).x; });
  }
}

// Cofactors need no division: not of a singular matrix either, whichever of its columns depend on each other.
TEST(Linalg, DerivativesOfDeterminantsThatAreZero) {
  const auto det = [](const Array& x) { return linalg::det(x); };
  const Array a = matrices({5, 5});
  for (const int64_t column : {0, 2, 4}) {
    for (const bool zero : {true, false}) {
      const Array here = iota({5, 5}, 1, i32) == column;
      const Array singular = where(here, zero ? zeros({5, 5}, f64) : 2 * roll(a, 1, 1), a);
      std::vector<Array> cofactors;
      for (int64_t i = 0; i < 25; ++i) {
        const Array row = iota({5, 5}, 0, i32) == i / 5, across = iota({5, 5}, 1, i32) == i % 5;
        cofactors.push_back(
            linalg::slogdet(where(row || across, (row && across).astype(f64), singular)).sign *
            exp(linalg::slogdet(where(row || across, (row && across).astype(f64), singular)).logabsdet));
      }
      EXPECT_LT(farthest(grad(det)(singular), reshape(stack(cofactors), {5, 5})), 1e-12) << column << zero;
      EXPECT_LT(farthest(vmap(grad(det))(stack({a, singular}))[{1}], grad(det)(singular)), 1e-12) << column << zero;
      const Array along = matrices({5, 5}, 7);
      const Array second = jvp(grad(det), singular, along).tangent;
      const Array differences = (grad(det)(singular + 1e-5 * along) - grad(det)(singular - 1e-5 * along)) / 2e-5;
      EXPECT_LT(farthest(second, differences), 1e-7) << column << zero;
    }
  }
  EXPECT_EQ(farthest(grad(det)(zeros({5, 5}, f64)), zeros({5, 5}, f64)), 0);
}

TEST(Linalg, SlicesOfDerivativesOfCholeskyKeepTheirBits) {
  const Array x = matrices({300, 20}), w = matrices({20, 20}, 4);
  const auto made = [](const Array& x) {
    return sin(expand_dims(x, -1) * expand_dims(arange(20).astype(f64), -2)) + 30 * eye(20, {}, f64);
  };
  const auto reverse = [&](const Array& x, const Array& w) {
    return sum(grad([&](const Array& a) { return sum(sin(matmul(linalg::cholesky(a), w))); })(made(x)), {1, 2});
  };
  const auto forward = [&](const Array& x, const Array& w) {
    const Array a = made(x);
    return sum(jvp([](const Array& a) { return linalg::cholesky(a); }, a, matmul(a, w)).tangent, {1, 2});
  };
  const auto shared = [&](const Array& x, const Array& w) {
    const Array a = matmul(w, transpose(w)) + eye(20, {}, f64);
    const auto tangent = [&](const Array& x) {
      return sum(jvp([](const Array& a) { return linalg::cholesky(a); }, a, made(x)).tangent);
    };
    const auto cotangent = [&](const Array& x) {
      return sum(grad([&](const Array& a) { return sum(linalg::cholesky(a) * outer(x, x)); })(a));
    };
    return vmap(tangent)(x) + vmap(cotangent)(x);
  };
  const auto check = [&](const auto& f) {
    const Array exact = jit(f)(x, w);
    for (const int64_t chunks : {2, 7}) {
      const auto sliced = jit(f, {.strategy = "chunked", .chunks = chunks});
      EXPECT_TRUE(same_bits(sliced(x, w), exact)) << sliced.last_plan();
      EXPECT_TRUE(has(sliced.last_plan(), "chunked")) << sliced.last_plan();
    }
  };
  check(reverse);
  check(forward);
  check(shared);
}

TEST(Linalg, ABudgetSlicesTheBatch) {
  const auto f = [](const Array& x) {
    const Array a = sin(expand_dims(x, -1) * expand_dims(arange(32).astype(f64), -2)) + 40 * eye(32, {}, f64);
    return sum(linalg::slogdet(a).logabsdet);
  };
  const Array x = matrices({2000, 32});
  // The batch is sliced for nothing; for a budget, more finely.
  const Measured whole = measure(jit(f), x);
  EXPECT_GT(whole.naive, 2000u * 32 * 32 * 8);
  EXPECT_LT(whole.planned, 4_MiB) << whole.plan;
  const size_t budget = whole.planned - (whole.planned - x.bytes()) / 4;
  const Measured m = measure(jit(f, {.memory_budget = budget}), x);
  EXPECT_LE(m.planned, budget);
  EXPECT_TRUE(has(m.plan, "chunked")) << m.plan;
  const double expected = whole.outputs[0].item<double>();
  EXPECT_NEAR(m.outputs[0].item<double>(), expected, 1e-9 * std::abs(expected));
}

// Right-hand sides are computed together, so slices of them are whole groups.
TEST(Linalg, SlicesOfRightHandSidesKeepTheirBits) {
  for (const DType dtype : {f32, f64}) {
    const Array a = positive({40, 40}, dtype), x = matrices({701}, 3, dtype), w = matrices({40}, 4, dtype);
    const auto rows = [](const Array& a, const Array& x, const Array& w) {
      return exp(-square(linalg::triangular_solve(a, sin(expand_dims(w, 1) * x + sort(x)), {.lower = true})));
    };
    const auto mapped = [](const Array& a, const Array& x, const Array& w) {
      return vmap([&](const Array& v) { return sort(linalg::solve(a, sin(v * w))); })(x);
    };
    const auto check = [&](const auto& f, const auto&... arguments) {
      const Array exact = jit(f)(arguments...);
      for (const int64_t chunks : {2, 3, 7}) {
        const auto sliced = jit(f, {.strategy = "chunked", .chunks = chunks});
        EXPECT_TRUE(same_bits(sliced(arguments...), exact)) << sliced.last_plan();
        EXPECT_TRUE(has(sliced.last_plan(), "chunked")) << sliced.last_plan();
      }
    };
    check(rows, a, x, w);
    check(mapped, a, x, w);
    const auto loops = [](const Array& a, const Array& x, const Array& w) {
      const auto step = [&](const Array&, const Array& s) { return linalg::solve(a, sin(s) + w); };
      return vmap([&](const Array& v) { return sum(fori_loop(0, 3, step, v * w)); })(x);
    };
    check(loops, a, x, w);
    // The last slice would be one column, which is no group.
    const Array exact = jit(rows)(a, x[{slice(0, 673)}], w);
    size_t least = 0;
    try {
      jit(rows, {.memory_budget = 1}).plan(a, x[{slice(0, 673)}], w);
    } catch (const BudgetError& e) {
      least = e.smallest_peak_bytes();
    }
    EXPECT_TRUE(same_bits(jit(rows, {.memory_budget = least})(a, x[{slice(0, 673)}], w), exact));
  }
}

TEST(Linalg, Singular) {
  const Array singular = array({1.0, 2.0, 2.0, 4.0}, Shape{2, 2});
  EXPECT_FALSE(all(isfinite(linalg::inv(singular))).item<bool>());
  EXPECT_FALSE(any(isfinite(linalg::solve(singular, array({1.0, 1.0})))).item<bool>());
  EXPECT_EQ(linalg::solve(zeros({0, 0}), zeros({3, 0, 2})).shape(), (Shape{3, 0, 2}));
  EXPECT_EQ(linalg::det(singular).item<double>(), 0);
  EXPECT_EQ(linalg::slogdet(singular).sign.item<double>(), 0);
  EXPECT_EQ(linalg::slogdet(singular).logabsdet.item<double>(), -linalg::inf);
}

TEST(Linalg, ErrorsNameTheUsersLine) {
  const auto message = [](const auto& f) {
    try {
      f();
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  const Array wide = zeros({2, 3}), square = zeros({3, 3}), vector = zeros({3});
  const auto refuses = [&](const auto& f, const char* what) {
    EXPECT_THAT(message(f), testing::AllOf(HasSubstr(what), HasSubstr("[linalg_test.cpp:")));
  };
  refuses([&] { linalg::cholesky(wide); }, "cholesky: f32[2,3]; expected square matrices [..., n, n]");
  refuses([&] { linalg::inv(wide); }, "inv: f32[2,3]; expected square");
  refuses([&] { linalg::svd(vector); }, "svd: f32[3]; expected matrices [..., m, n]");
  refuses([&] { linalg::solve(square, zeros({2})); }, "solve: f32[3,3] and f32[2]; expected as many rows");
  refuses([&] { linalg::triangular_solve(square, zeros({2, 2})); }, "triangular_solve: f32[3,3] and f32[2,2]");
  refuses([&] { linalg::norm(square, 3.0); }, "norm: order 3 of a matrix");
  refuses([&] { linalg::norm(vector, linalg::Norm::nuclear); }, "norm: nuclear of vectors");
  refuses([&] { linalg::norm(zeros({}), 2.0); }, "norm: 0 axes; expected one axis of vectors, or two of matrices");
  refuses([&] { linalg::norm(square, 2.0, Shape{}); }, "norm: 0 axes");
  const linalg::Lu factors = linalg::lu(square);
  refuses([&] { linalg::lu_solve(factors, zeros({2})); }, "lu_solve: f32[3,3] and f32[2]; expected as many rows");
  refuses([&] { linalg::lu_solve(factors, zeros({})); }, "lu_solve: f32[3,3] and f32[]; expected as many rows");
  refuses([&] { linalg::lu_solve(linalg::lu(wide), zeros({2})); },
          "lu_solve: f32[2,3] and f32[2]; expected the factors");
  refuses([&] { linalg::triangular_solve(square, zeros({4, 2}), {.left_side = false}); },
          "triangular_solve: f32[3,3] and f32[4,2]; expected [..., n, n] and [..., k, n]");
  refuses([&] { linalg::lstsq(square, zeros({2})); }, "lstsq: f32[3,3] and f32[2]");
  refuses([&] { nr::multivariate_normal(nr::key(1), vector, wide); },
          "multivariate_normal: mean [3] and covariance [2,3]");
  const Array tall = matrices({4, 2});
  refuses([&] { grad([](const Array& x) { return sum(linalg::qr(x, linalg::QrMode::complete).q); })(tall); },
          "qr: a derivative of a full Q of f64[4,2]");
  refuses([&] { grad([](const Array& x) { return sum(linalg::svd(x).u); })(tall); },
          "svd: a derivative of the full matrices of f64[4,2]");
}

TEST(Linalg, RandomMatrices) {
  const Array q = nr::orthogonal(nr::key(3), 6, {4}, f64);
  EXPECT_LT(farthest(matmul(q, swapaxes(q, -1, -2)), broadcast_to(eye(6, {}, f64), {4, 6, 6})), 1e-13);
  const Array covariance = positive({3, 3}), mean = array({1.0, -2.0, 0.5});
  const Array x = nr::multivariate_normal(nr::key(4), mean, covariance, Shape{200'000});
  EXPECT_LT(farthest(neap::mean(x, 0), mean), 0.02);
  const Array centred = x - mean;
  EXPECT_LT(farthest(matmul(transpose(centred), centred) / 200'000.0, covariance), 0.05);
}

}  // namespace
}  // namespace neap
