// tridiagonal_solve() against a dense solution.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

namespace neap {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

Array numbers(uint64_t seed, const Shape& shape) { return random::normal(random::key(seed), shape, f64); }

Array dense(const Array& dl, const Array& d, const Array& du) {
  return diag(d) + diag(dl[{slice(1, end)}], -1) + diag(du[{slice(0, -1)}], 1);
}
Array expected(const Array& dl, const Array& d, const Array& du, const Array& b) {
  return linalg::solve(dense(dl, d, du), b);
}

void expect_equal(const Array& got, const Array& other) {
  ASSERT_EQ(got.aval(), other.aval());
  const double scale = 1 + max(abs(other)).item<double>();
  EXPECT_THAT(got.to_vector<double>(), Pointwise(DoubleNear(1e-10 * scale), other.to_vector<double>()));
}

TEST(TridiagonalSolve, AnyMatrix) {
  // Not dominated by its diagonal, which is zero in places: rows must be exchanged.
  const Array dl = numbers(1, {9}), d = numbers(2, {9}).at(0).set(0.0).at(4).set(0.0), du = numbers(3, {9}),
              b = numbers(4, {9, 2});
  expect_equal(linalg::tridiagonal_solve(dl, d, du, b), expected(dl, d, du, b));
  expect_equal(jit([](const Array& l, const Array& m, const Array& u, const Array& y) {
                 return linalg::tridiagonal_solve(l, m, u, y);
               })(dl, d, du, b),
               expected(dl, d, du, b));
  expect_equal(linalg::tridiagonal_solve(dl.at(0).set(7.0), d, du.at(-1).set(7.0), b), expected(dl, d, du, b));
  const auto one = [](const Array& x) { return x[{slice(3, 4)}]; };
  expect_equal(linalg::tridiagonal_solve(one(dl), one(d), one(du), one(b)), one(b) / expand_dims(one(d), 1));
}

TEST(TridiagonalSolve, BatchesAndDerivatives) {
  const Array dl = numbers(1, {3, 6}), d = numbers(2, {3, 6}) + 4, du = numbers(3, {3, 6}), b = numbers(4, {3, 6, 2});
  const Array each = vmap(expected)(dl, d, du, b);
  expect_equal(linalg::tridiagonal_solve(dl, d, du, b), each);
  expect_equal(vmap([](const Array& l, const Array& m, const Array& u, const Array& y) {
                 return linalg::tridiagonal_solve(l, m, u, y);
               })(dl, d, du, b),
               each);
  const auto total = [](auto solve) {
    return [=](const Array& l, const Array& m, const Array& u, const Array& y) { return sum(sin(solve(l, m, u, y))); };
  };
  const auto got = grad<0, 1, 2, 3>(total([](auto&... x) { return linalg::tridiagonal_solve(x...); }))(dl, d, du, b);
  const auto known = grad<0, 1, 2, 3>(total([](auto&... x) { return vmap(expected)(x...); }))(dl, d, du, b);
  expect_equal(std::get<0>(got), std::get<0>(known)), expect_equal(std::get<1>(got), std::get<1>(known));
  expect_equal(std::get<2>(got), std::get<2>(known)), expect_equal(std::get<3>(got), std::get<3>(known));
}

}  // namespace
}  // namespace neap
