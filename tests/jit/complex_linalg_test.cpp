// Linear algebra of complex matrices: what defines each factor, derivatives against finite differences, batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <complex>

namespace neap {
namespace {

Array numbers(uint64_t seed, const Shape& shape) {
  return complex(random::normal(random::key(seed), shape, f64), random::normal(random::key(seed + 100), shape, f64));
}
Array adjoint(const Array& a) { return conj(swapaxes(a, -1, -2)); }
Array unit(int64_t n) { return eye(n, {}, c128); }
double size_of_all(const Array& x) { return x.size() == 0 ? 0 : max(hypot(real(x), imag(x))).item<double>(); }

void expect_equal(const Array& got, const Array& expected, double tolerance = 1e-11) {
  ASSERT_EQ(got.shape(), expected.shape());
  EXPECT_LE(size_of_all(got - expected), tolerance * (1 + size_of_all(expected)));
}
Array scaled(const Array& u, const Array& s) { return u * expand_dims(s, -2).astype(c128); }

const std::vector<Shape> kShapes{{1, 1}, {4, 4}, {6, 3}, {3, 5}, {2, 5, 5}, {2, 3, 4, 2}, {1, 4}, {4, 1}};

TEST(ComplexLinalg, FactorsMultiplyToTheMatrix) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(to_string(shape));
    const Array a = numbers(1, shape);
    const int64_t m = shape[shape.size() - 2], n = shape.back(), k = std::min(m, n);
    for (const auto mode : {linalg::QrMode::reduced, linalg::QrMode::complete}) {
      const linalg::Qr f = linalg::qr(a, mode);
      expect_equal(matmul(f.q, f.r), a);
      expect_equal(matmul(adjoint(f.q), f.q), broadcast_to(unit(f.q.shape(-1)), matmul(adjoint(f.q), f.q).shape()));
      expect_equal(f.r, triu(f.r), 0);
    }
    for (const bool full : {false, true}) {
      const linalg::Svd f = linalg::svd(a, full);
      EXPECT_EQ(f.s.dtype(), f64);
      const Array u = slice_in_dim(f.u, 0, k, f.u.ndim() - 1), vh = slice_in_dim(f.vh, 0, k, f.vh.ndim() - 2);
      expect_equal(matmul(scaled(u, f.s), vh), a);
      expect_equal(matmul(adjoint(f.u), f.u), broadcast_to(unit(f.u.shape(-1)), matmul(adjoint(f.u), f.u).shape()));
      expect_equal(matmul(f.vh, adjoint(f.vh)),
                   broadcast_to(unit(f.vh.shape(-2)), matmul(f.vh, adjoint(f.vh)).shape()));
    }
    expect_equal(linalg::svdvals(a), linalg::svd(a, false).s);
    const linalg::Lu lu = linalg::lu(a);
    const Array l = tril(slice_in_dim(lu.lu, 0, k, a.ndim() - 1), -1) + eye(m, k, c128),
                u = triu(slice_in_dim(lu.lu, 0, k, a.ndim() - 2));
    const Array rows = take_along_axis(a, broadcast_to(expand_dims(lu.permutation, -1), shape), -2);
    expect_equal(matmul(l, u), rows);
    EXPECT_LE(size_of_all(tril(l, -1)), std::sqrt(2.0) + 1e-9);
    expect_equal(matmul(a, matmul(linalg::pinv(a), a)), a);
  }
}

TEST(ComplexLinalg, HermitianMatrices) {
  for (const Shape& shape : std::vector<Shape>{{1, 1}, {2, 2}, {6, 6}, {3, 4, 4}}) {
    SCOPED_TRACE(to_string(shape));
    const Array x = numbers(2, shape), a = x + adjoint(x);
    const linalg::Eigh f = linalg::eigh(a);
    EXPECT_EQ(f.eigenvalues.dtype(), f64);
    expect_equal(matmul(a, f.eigenvectors), scaled(f.eigenvectors, f.eigenvalues));
    expect_equal(matmul(adjoint(f.eigenvectors), f.eigenvectors), broadcast_to(unit(shape.back()), shape));
    expect_equal(linalg::eigvalsh(a), f.eigenvalues);
    const Array positive = matmul(x, adjoint(x)) + unit(shape.back());
    const Array l = linalg::cholesky(positive), u = linalg::cholesky(positive, true);
    expect_equal(matmul(l, adjoint(l)), positive);
    expect_equal(matmul(adjoint(u), u), positive);
    expect_equal(l, tril(l), 0);
    const Array main = imag(diagonal(l, 0, -2, -1));
    expect_equal(main, zeros_like(main), 0);
    const Array b = numbers(3, shape);
    expect_equal(matmul(positive, linalg::cho_solve(l, b)), b);
    expect_equal(matmul(positive, linalg::cho_solve(u, b, false)), b);
    expect_equal(matmul(positive, linalg::solve(positive, b, true)), b);
  }
  // Equal eigenvalues, and none at all.
  expect_equal(linalg::eigh(2 * unit(4)).eigenvalues, full({4}, 2.0, f64));
  const linalg::Svd none = linalg::svd(zeros({3, 2}, c128));
  expect_equal(none.s, zeros({2}, f64));
  expect_equal(matmul(adjoint(none.u), none.u), unit(3));
}

// One triangle is read: the other may hold anything.
TEST(Triangles, AreReadAlone) {
  for (const DType dtype : {f64, c128}) {
    const Array x = numbers(30, {4, 4}), z = matmul(x, adjoint(x)) + unit(4);
    const Array a = dtype == f64 ? real(z) + real(z).astype(f64) : z;
    const Array low = tril(a) + triu(full({4, 4}, NAN, dtype), 1), high = triu(a) + tril(full({4, 4}, NAN, dtype), -1);
    expect_equal(linalg::cholesky(where(isnan(real(low)), 0, low), false, false), linalg::cholesky(a));
    expect_equal(linalg::cholesky(where(isnan(real(high)), 7, high), true, false), linalg::cholesky(a, true));
    expect_equal(linalg::eigh(where(isnan(real(low)), 7, low), true, false).eigenvalues, linalg::eigvalsh(a));
    expect_equal(linalg::eigvalsh(where(isnan(real(high)), 7, high), false, false), linalg::eigvalsh(a));
    if (dtype == f64) expect_equal(linalg::cholesky(low, false, false), linalg::cholesky(a));
  }
}

TEST(ComplexLinalg, Systems) {
  const Array a = numbers(4, {5, 5}), b = numbers(5, {5, 2}), v = numbers(6, {5});
  expect_equal(matmul(a, linalg::solve(a, b)), b);
  expect_equal(matmul(a, linalg::solve(a, v)), v);
  expect_equal(matmul(a, linalg::inv(a)), unit(5));
  const linalg::Lu f = linalg::lu(a);
  expect_equal(matmul(a, linalg::lu_solve(f, b)), b);
  expect_equal(matmul(transpose(a), linalg::lu_solve(f, b, true)), b);
  for (const bool lower : {false, true})
    for (const bool turned : {false, true})
      for (const bool ones : {false, true}) {
        const Array read = ones ? (lower ? tril(a, -1) : triu(a, 1)) + unit(5) : lower ? tril(a) : triu(a);
        const Array t = turned ? transpose(read) : read;
        expect_equal(
            matmul(t, linalg::triangular_solve(a, b, {.lower = lower, .transpose_a = turned, .unit_diagonal = ones})),
            b);
        const Array side = transpose(b);
        expect_equal(
            matmul(linalg::triangular_solve(
                       a, side, {.left_side = false, .lower = lower, .transpose_a = turned, .unit_diagonal = ones}),
                   t),
            side);
      }
  expect_equal(linalg::lstsq(numbers(7, {6, 3}), numbers(8, {6})).x,
               matmul(linalg::pinv(numbers(7, {6, 3})), numbers(8, {6})));
  expect_equal(matmul(linalg::expm(a), linalg::expm(-a)), unit(5), 1e-9);
}

TEST(ComplexLinalg, Determinants) {
  for (const int64_t n : {1, 2, 3, 5}) {
    const Array a = numbers(9, {n, n}), det = linalg::det(a);
    const linalg::Slogdet f = linalg::slogdet(a);
    expect_equal(f.sign * exp(f.logabsdet).astype(c128), det);
    const Array b = numbers(10, {n, n});
    expect_equal(linalg::det(matmul(a, b)), det * linalg::det(b));
  }
  expect_equal(linalg::det(numbers(11, {3, 4, 4}))[1], linalg::det(numbers(11, {3, 4, 4})[1]));
}

TEST(ComplexLinalg, SchurFormsAndWhatIsMadeOfThem) {
  const std::vector<Array> matrices{numbers(20, {1, 1}),
                                    numbers(21, {2, 2}),
                                    numbers(22, {9, 9}),
                                    numbers(23, {3, 5, 5}),
                                    complex(real(numbers(24, {6, 6})), zeros({6, 6}, f64)),
                                    unit(4),
                                    zeros({3, 3}, c128)};
  for (const Array& a : matrices) {
    SCOPED_TRACE(to_string(a.shape()));
    const int64_t n = a.shape(-1);
    const linalg::Schur f = linalg::schur(a);
    expect_equal(matmul(f.z, matmul(f.t, adjoint(f.z))), a);
    expect_equal(matmul(adjoint(f.z), f.z), broadcast_to(unit(n), a.shape()));
    expect_equal(f.t, triu(f.t), 0);
    const linalg::Eig e = linalg::eig(a);
    expect_equal(matmul(a, e.eigenvectors), e.eigenvectors * expand_dims(e.eigenvalues, -2), 1e-10);
    expect_equal(sum(square(real(e.eigenvectors)) + square(imag(e.eigenvectors)), -2),
                 ones(e.eigenvalues.shape(), f64));
    expect_equal(sum(linalg::eigvals(a), -1), sum(diagonal(a, 0, -2, -1), -1));
    if (n == 4 || n == 3) continue;  // the root of 0 is not found by division
    const Array root = linalg::sqrtm(a);
    expect_equal(matmul(root, root), a, 1e-10);
    EXPECT_GE(min(real(linalg::eigvals(root))).item<double>(), -1e-9);
  }
  // Real matrices have complex results; a rotation's eigenvalues are i and -i.
  const linalg::Eig turn = linalg::eig(array<float>({{0, -1}, {1, 0}}));
  EXPECT_EQ(turn.eigenvalues.dtype(), c64);
  expect_equal(sort(imag(turn.eigenvalues)).astype(f64), array({-1.0, 1.0}), 1e-6);
  // One vector for two eigenvalues; a permutation, on which unshifted steps would turn for ever.
  const linalg::Eig one = linalg::eig(array<double>({{2, 1}, {0, 2}}));
  expect_equal(one.eigenvalues, full({2}, 2.0, f64).astype(c128));
  const Array cycle = roll(eye(5, {}, f64), 1, 0);
  expect_equal(prod(linalg::eigvals(cycle)), ones({}, c128), 1e-10);
}

// The derivative of a real function of a along da, by differences and by both modes.
template <class F>
void expect_derivative(const F& f, const Array& a, double tolerance = 2e-7) {
  const Array da = numbers(77, a.shape());
  const double h = 1e-6;
  const double by_difference = ((f(a + h * da) - f(a - h * da)) / (2 * h)).template item<double>();
  EXPECT_NEAR(jvp(f, a, da).tangent.template item<double>(), by_difference, tolerance * (1 + std::abs(by_difference)));
  // grad is df/dx - i df/dy, so that df = Re sum(grad da).
  EXPECT_NEAR(sum(real(jit(grad(f))(a) * da)).template item<double>(), by_difference,
              tolerance * (1 + std::abs(by_difference)));
}

TEST(ComplexLinalg, Derivatives) {
  const Array square = numbers(12, {4, 4}), tall = numbers(13, {5, 3}), wide = numbers(14, {3, 5}),
              weights = numbers(15, {5, 5});
  const auto total = [=](const Array& x) {
    const Array w = weights[{slice(0, x.shape(-2)), slice(0, x.shape(-1))}];
    return sum(real(w * x));
  };
  for (const Array& a : {square, tall, wide}) {
    expect_derivative([=](const Array& x) { return total(linalg::lu(x).lu); }, a);
    expect_derivative([=](const Array& x) { return total(linalg::qr(x).q); }, a);
    expect_derivative([=](const Array& x) { return total(linalg::qr(x).r); }, a);
    expect_derivative([=](const Array& x) { return sum(sin(linalg::svd(x, false).s)); }, a);
    // u e^s v^H has no phases.
    expect_derivative(
        [=](const Array& x) {
          const linalg::Svd f = linalg::svd(x, false);
          return total(matmul(scaled(f.u, exp(f.s)), f.vh));
        },
        a);
    expect_derivative([=](const Array& x) { return total(linalg::pinv(x)); }, a);
  }
  expect_derivative(
      [=](const Array& x) {
        const linalg::Eigh f = linalg::eigh(x + adjoint(x));
        return total(matmul(scaled(f.eigenvectors, sin(f.eigenvalues)), adjoint(f.eigenvectors)));
      },
      square);
  expect_derivative([=](const Array& x) { return total(linalg::cholesky(matmul(x, adjoint(x)) + unit(4))); }, square);
  expect_derivative([=](const Array& x) { return total(linalg::solve(x, adjoint(x))); }, square);
  expect_derivative([=](const Array& x) { return real(linalg::det(x)); }, square);
  expect_derivative([=](const Array& x) { return linalg::slogdet(x).logabsdet + imag(linalg::slogdet(x).sign); },
                    square);
  expect_derivative([=](const Array& x) { return sum(real(sin(linalg::eigvals(x)))); }, square);
  expect_derivative(
      [=](const Array& x) {  // v f(w) v^-1
        const linalg::Eig f = linalg::eig(x);
        return total(matmul(f.eigenvectors * expand_dims(sin(f.eigenvalues), 0), linalg::inv(f.eigenvectors)));
      },
      square);
  expect_derivative([=](const Array& x) { return total(linalg::sqrtm(x)); }, square);
  const auto of_root = [=](const Array& x) { return total(linalg::sqrtm(x)); };
  expect_derivative([=](const Array& x) { return sum(real(grad(of_root)(x) * weights[{slice(0, 4), slice(0, 4)}])); },
                    square, 1e-5);
  const auto once = [=](const Array& x) { return total(matmul(linalg::inv(x), x * x)); };
  expect_derivative([=](const Array& x) { return sum(real(grad(once)(x) * weights[{slice(0, 4), slice(0, 4)}])); },
                    square, 1e-5);
}

// What is determined of full factors has its derivative.
TEST(ComplexLinalg, DerivativesOfFullFactors) {
  const auto values = [](bool full) { return [=](const Array& x) { return sum(sin(linalg::svd(x, full).s)); }; };
  const auto triangle = [](linalg::QrMode mode) {
    return [=](const Array& x) { return sum(real(linalg::qr(x, mode).r)); };
  };
  for (const Array& a :
       {numbers(12, {4, 4}), numbers(13, {5, 3}), numbers(14, {3, 5}), diag(array({3.0, 2.0})).astype(c128)}) {
    expect_equal(grad(values(true))(a), grad(values(false))(a));
    expect_equal(grad(triangle(linalg::QrMode::complete))(a), grad(triangle(linalg::QrMode::reduced))(a));
  }
}

TEST(ComplexLinalg, NothingAtAll) {
  for (const Shape& shape : std::vector<Shape>{{0, 0}, {0, 3}, {3, 0}, {2, 0, 0}, {0, 2, 2}}) {
    SCOPED_TRACE(to_string(shape));
    const Array a = zeros(shape, c128), r = zeros(shape, f64);
    EXPECT_EQ(linalg::lu(a).lu.shape(), linalg::lu(r).lu.shape());
    EXPECT_EQ(linalg::lu(a).pivots.shape(), linalg::lu(r).pivots.shape());
    for (const bool full : {false, true}) {
      EXPECT_EQ(linalg::svd(a, full).u.shape(), linalg::svd(r, full).u.shape());
      EXPECT_EQ(linalg::svd(a, full).vh.shape(), linalg::svd(r, full).vh.shape());
      EXPECT_EQ(linalg::svd(a, full).s.aval(), linalg::svd(r, full).s.aval());
      const auto mode = full ? linalg::QrMode::complete : linalg::QrMode::reduced;
      EXPECT_EQ(linalg::qr(a, mode).q.shape(), linalg::qr(r, mode).q.shape());
      EXPECT_EQ(linalg::qr(a, mode).r.shape(), linalg::qr(r, mode).r.shape());
    }
    if (shape[shape.size() - 2] != shape.back()) continue;
    EXPECT_EQ(linalg::eigh(a).eigenvectors.shape(), shape);
    EXPECT_EQ(linalg::det(a).shape(), linalg::det(r).shape());
    EXPECT_EQ(linalg::slogdet(a).logabsdet.aval(), linalg::slogdet(r).logabsdet.aval());
    EXPECT_EQ(linalg::eig(r).eigenvectors.shape(), shape);
    EXPECT_EQ(linalg::sqrtm(r).shape(), shape);
  }
}

TEST(ComplexLinalg, SinglePrecisionAndBatches) {
  const Array a = numbers(16, {3, 4, 4});
  expect_equal(vmap([](const Array& x) { return linalg::eigh(x).eigenvalues; })(a), linalg::eigh(a).eigenvalues);
  expect_equal(jit([](const Array& x) { return linalg::inv(x); })(a), linalg::inv(a));
  const linalg::Svd f = linalg::svd(a.astype(c64));
  EXPECT_EQ(f.u.dtype(), c64);
  EXPECT_EQ(f.s.dtype(), f32);
  expect_equal(f.s.astype(f64), linalg::svdvals(a), 1e-5);
  expect_equal(linalg::det(zeros({4, 4}, c128)), zeros({}, c128));
}

}  // namespace
}  // namespace neap
