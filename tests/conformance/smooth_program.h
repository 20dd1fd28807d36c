// Makes functions at random that have every derivative, though what the library makes them of may not: a maximum inside
// logaddexp, a quotient inside sinc. Their points have zeros and equal elements, where that shows.
#pragma once

#include <neap/linalg.h>
#include <neap/neap.h>

#include "tests/conformance/harness.h"

namespace neap::conformance {

class SmoothProgram {
 public:
  explicit SmoothProgram(uint64_t seed) : random_(seed) {
    static constexpr double kPoints[] = {0, 0, 0, 1, 1, -1, -1, 0.5, 2, -0.75};
    for (size_t i = 0, n = 1 + pick(4); i < n; ++i) point.push_back(kPoints[pick(std::size(kPoints))]);
    const eager_reference reference;
    std::vector<Array> values{array(point)};
    for (size_t i = 0, n = 1 + pick(6); i < n; ++i) {
      const Step step{pick(rows().size()), recent(values.size()), recent(values.size())};
      const Array v = apply(step, values);
      if (!all(abs(v) < 20.0).item<bool>()) continue;  // nor what is NaN
      values.push_back(v), steps_.push_back(step);
    }
  }

  std::vector<double> point;

  /// f64[n] -> f64[].
  Array operator()(const Array& x) const {
    std::vector<Array> values{x};
    for (const Step& step : steps_) values.push_back(apply(step, values));
    const Array& before = values[values.size() - std::min<size_t>(values.size(), 2)];
    return sum(values.back() * (0.5 + 0.37 * arange(x.size(), f64))) + 0.3 * sum(before);
  }

  /// Of all functions that there are.
  static Array sum_of_all(const Array& x, const Array& y) {
    Array total = zeros({}, f64);
    for (const Row& row : rows()) total = total + sum(row.f(x, y));
    return total;
  }

  std::string said() const {
    std::string text = fmt::format("at {}:", fmt::join(point, ", "));
    for (size_t i = 0; i < steps_.size(); ++i)
      text += fmt::format(" v{} = {}(v{}, v{});", i + 1, rows()[steps_[i].row].name, steps_[i].x, steps_[i].y);
    return text;
  }

 private:
  struct Row {
    const char* name;
    Array (*f)(const Array& x, const Array& y);  // f64[n], or what broadcasts to it
  };
  struct Step {
    size_t row, x, y;
  };

  size_t pick(size_t n) { return random_() % n; }
  size_t recent(size_t n) { return n - 1 - std::min(pick(4), n - 1); }

  static Array apply(const Step& step, const std::vector<Array>& values) {
    return broadcast_to(rows()[step.row].f(values[step.x], values[step.y]), values[0].shape());
  }

  static const std::vector<Row>& rows() {
    static const std::vector<Row> all = joined({elementwise(), special(), over_axes(), windows(), matrices()});
    return all;
  }
  static std::vector<Row> joined(const std::vector<std::vector<Row>>& parts) {
    std::vector<Row> all;
    for (const std::vector<Row>& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  // Matrices of bounded vectors: a regular one, one that is positive definite, one whose eigenvalues lie apart.
  static Array identity(const Array& x) { return eye(x.size(), x.size(), f64); }
  static Array regular(const Array& x, const Array& y) { return outer(sin(x), cos(y)) + 3.0 * identity(x); }
  static Array definite(const Array& x) { return outer(sin(x), sin(x)) + 2.0 * identity(x); }
  static Array apart(const Array& x, const Array& y) {
    return outer(sin(x), sin(y)) + identity(x) * (10.0 * (1.0 + arange(x.size(), f64)));
  }
  static Array complex_regular(const Array& x, const Array& y) { return complex(regular(x, y), outer(cos(y), sin(x))); }
  static Array hermitian(const Array& x, const Array& y) {
    const Array a = complex_regular(x, y);
    return matmul(a, conj(linalg::matrix_transpose(a)));
  }
  static Array last_row(const Array& a) { return a[-1]; }
  static Array size_squared(const Array& z) { return square(real(z)) + square(imag(z)); }
  static Array column(const Array& x) { return expand_dims(x, 1); }
  // 1 + joined(a, b) is (1 + a) (1 + b).
  static Array joined_of(const Array& a, const Array& b) { return a + b + 0.1 * a * b; }
  static Array ends(const Array& x) { return stack({zeros({}, i32), full({}, x.size() - 1, i32)}); }

#define NEAP_ROW(...) \
  {#__VA_ARGS__,      \
   [](const Array& x, const Array& y) -> Array { return static_cast<void>(x), static_cast<void>(y), __VA_ARGS__; }}
  static std::vector<Row> elementwise() {
    return {
        NEAP_ROW(logaddexp(x, y)),
        NEAP_ROW(logaddexp(x, 0.0)),
        NEAP_ROW(logaddexp2(x, y)),
        NEAP_ROW(softplus(x)),
        NEAP_ROW(log_sigmoid(x)),
        NEAP_ROW(gelu(x)),
        NEAP_ROW(gelu_tanh(x)),
        NEAP_ROW(silu(x)),
        NEAP_ROW(mish(x)),
        NEAP_ROW(squareplus(x)),
        NEAP_ROW(sigmoid(x)),
        NEAP_ROW(tanh(x)),
        NEAP_ROW(sin(x)),
        NEAP_ROW(cos(x)),
        NEAP_ROW(exp(x)),
        NEAP_ROW(expm1(x)),
        NEAP_ROW(exp2(x)),
        NEAP_ROW(square(x)),
        NEAP_ROW(power(x, 2)),
        NEAP_ROW(power(x, 3)),
        NEAP_ROW(pow(x, 2.0)),
        NEAP_ROW(pow(x, 3.0)),
        NEAP_ROW(pow(2.0 + sin(x), y)),
        NEAP_ROW(erf(x)),
        NEAP_ROW(erfc(x)),
        NEAP_ROW(ndtr(x)),
        NEAP_ROW(erf_inv(0.5 * tanh(x))),
        NEAP_ROW(tan(0.5 * sin(x))),
        NEAP_ROW(atan(x)),
        NEAP_ROW(asin(0.5 * sin(x))),
        NEAP_ROW(acos(0.5 * sin(x))),
        NEAP_ROW(asinh(x)),
        NEAP_ROW(acosh(3.0 + sin(x))),
        NEAP_ROW(atanh(0.5 * sin(x))),
        NEAP_ROW(sinh(x)),
        NEAP_ROW(cosh(x)),
        NEAP_ROW(sinc(x)),
        NEAP_ROW(sqrt(1.0 + square(x))),
        NEAP_ROW(rsqrt(1.0 + square(x))),
        NEAP_ROW(cbrt(2.0 + sin(x))),
        NEAP_ROW(reciprocal(2.0 + sin(x))),
        NEAP_ROW(log(1.0 + square(x))),
        NEAP_ROW(log1p(square(x))),
        NEAP_ROW(log2(2.0 + sin(x))),
        NEAP_ROW(log10(2.0 + sin(x))),
        NEAP_ROW(logit(0.5 + 0.25 * sin(x))),
        NEAP_ROW(lgamma(2.0 + sin(x))),
        NEAP_ROW(digamma(2.0 + sin(x))),
        NEAP_ROW(betaln(2.0 + sin(x), 2.0 + cos(y))),
        NEAP_ROW(entr(1.0 + square(x))),
        NEAP_ROW(xlogy(x, 2.0 + sin(y))),
        NEAP_ROW(xlog1py(x, square(y))),
        NEAP_ROW(rel_entr(2.0 + sin(x), 1.0 + square(y))),
        NEAP_ROW(kl_div(2.0 + sin(x), 1.0 + square(y))),
        NEAP_ROW(hypot(x, 1.0)),
        NEAP_ROW(hypot(x, 1.0 + square(y))),
        NEAP_ROW(atan2(x, 2.0 + sin(y))),
        NEAP_ROW(nan_to_num(x)),
        NEAP_ROW(clip(x, -50.0, 50.0)),
        NEAP_ROW(maximum(x, x)),
        NEAP_ROW(minimum(x, x + 1.0)),
        NEAP_ROW(abs(3.0 + sin(x)) * x),
        NEAP_ROW(select(x < y, sin(x), sin(x))),
        NEAP_ROW(x + y),
        NEAP_ROW(x - y),
        NEAP_ROW(x * y),
        NEAP_ROW(x / (2.0 + sin(y))),
    };
  }
  static std::vector<Row> special() {
    return {
        NEAP_ROW(gamma(2.0 + sin(x))),
        NEAP_ROW(gammaln(2.0 + square(x))),
        NEAP_ROW(factorial(1.0 + sin(x))),
        NEAP_ROW(poch(2.0 + sin(x), 1.5 + cos(y))),
        NEAP_ROW(beta(2.0 + sin(x), 2.0 + cos(y))),
        NEAP_ROW(multigammaln(3.0 + square(x), 2)),
        NEAP_ROW(polygamma(1, 2.0 + sin(x))),
        NEAP_ROW(polygamma(3, 2.0 + sin(x))),
        NEAP_ROW(zeta(3.0 + sin(x), 2.0 + cos(y))),
        NEAP_ROW(log_ndtr(x)),
        NEAP_ROW(ndtri(0.5 + 0.25 * sin(x))),
        NEAP_ROW(gammainc(2.0 + sin(x), 1.0 + square(y))),
        NEAP_ROW(gammaincc(2.0 + sin(x), 1.0 + square(y))),
        NEAP_ROW(betainc(2.0 + sin(x), 2.0 + cos(y), 0.5 + 0.25 * sin(x))),
        NEAP_ROW(i0(sin(x))),
        NEAP_ROW(i1(sin(x))),
        NEAP_ROW(i0e(2.0 + sin(x))),
        NEAP_ROW(i1e(2.0 + sin(x))),
        NEAP_ROW(expi(1.0 + square(x))),
        NEAP_ROW(exp1(1.0 + square(x))),
        NEAP_ROW(expn(3, 1.0 + square(x))),
        NEAP_ROW(spence(2.0 + sin(x))),
    };
  }
  // c, after a loop that reads rows of a table, in a loop and a branch too.
  static Array with_rows_of(const Array& table, const Array& c) {
    const auto each = [&](const Array& a, const Array& i) {
      return std::pair{0.5 * a + tanh(take(table, i, 0)), nullptr};
    };
    const auto step = [&](const Array& a, const Array& i) {
      const Array window = dynamic_slice(table, stack({i[0], array(0)}), {2, c.size()});
      const Array all = scan(each, a, i).first + sin(window[0]) * window[1];
      return std::pair{cond(
                           i[1] > 1, [&](const Array& b) { return 0.5 * b * take(table, i[1], 0); },
                           [&](const Array& b) { return 0.25 * b; }, all),
                       nullptr};
    };
    return scan(step, c, reshape(arange(6), {3, 2}) % 3).first;
  }
  static std::vector<Row> windows() {
    return {
        NEAP_ROW(reduce(concatenate({sin(x), y}), 0.0, joined_of)),
        NEAP_ROW(reduce_window(sin(x), 0.0, joined_of, {2}, {.same = true})),
        NEAP_ROW(reduce_window(concatenate({sin(x), sin(y)}), 0.0, joined_of, {3}, {.stride = {2}, .same = true})),
        NEAP_ROW(sum_pool(x * y, {3}, {.same = true})),
        NEAP_ROW(segment_sum(concatenate({x, y}), remainder(arange(2 * x.size()), 2), x.size())),
        // Not of zeros: with two among the factors the third derivative is not that of a product.
        NEAP_ROW(segment_prod(concatenate({2.0 + sin(x), 2.0 + cos(y)}), remainder(arange(2 * x.size()), 2), x.size())),
        NEAP_ROW(sum(tanh(take(x, lexsort({x, y}))))),
        NEAP_ROW(reduce_precision(x, 11, 52) * y),
        NEAP_ROW(
            sum(lax::gather(stack({x, y * y}), column(ends(x)), {{1, 2}, {}, {0}}, {1, x.size()}, GatherMode::clip),
                Shape{0, 1})),
        NEAP_ROW(lax::scatter_add(x, column(ends(x)), column(stack({y[0], y[0] * y[0]})), {{1}, {}, {0}})),
        NEAP_ROW(lax::scatter_mul(x, column(ends(x)), column(stack({sin(y[0]), y[0]})), {{1}, {}, {0}})),
        NEAP_ROW(lax::scatter(x, column(ends(x)), column(stack({y[0], y[0]})), {{1}, {}, {0}})),
        NEAP_ROW(lax::conv_general_dilated(stack({x, y}), regular(x, y))[1]),
        NEAP_ROW(reshape(lax::conv_general_dilated(reshape(x, {1, 1, x.size(), 1, 1, 1}),
                                                   reshape(y, {1, 1, y.size(), 1, 1, 1}), {.same = true}),
                         {x.size()})),
        NEAP_ROW(lax::conv_general_dilated(reshape(stack({x, y}), {2, 1, x.size()}),
                                           reshape(stack({y, x}), {2, 1, x.size()}), {.same = true}, {}, 2)[0][1]),
    };
  }
  static std::vector<Row> matrices() {
    return {
        NEAP_ROW(last_row(linalg::cholesky(definite(x)))),
        NEAP_ROW(square(linalg::qr(regular(x, y)).r)[0]),
        NEAP_ROW(linalg::lu_solve(linalg::lu(regular(x, y)), y)),
        NEAP_ROW(linalg::eigvalsh(apart(x, x))),
        NEAP_ROW(square(linalg::eigh(apart(x, x)).eigenvectors)[0]),
        NEAP_ROW(linalg::svdvals(apart(x, y))),
        NEAP_ROW(linalg::slogdet(regular(x, y)).logabsdet),
        NEAP_ROW(last_row(linalg::expm(outer(sin(x), cos(y))))),
        NEAP_ROW(last_row(linalg::inv(regular(x, y)))),
        NEAP_ROW(linalg::tridiagonal_solve(sin(x), 4.0 + cos(y), sin(y), column(x))[{slice(), 0}]),
        NEAP_ROW(real(last_row(linalg::cholesky(hermitian(x, y))))),
        NEAP_ROW(imag(last_row(linalg::cholesky(hermitian(x, y))))),
        NEAP_ROW(size_squared(linalg::qr(complex_regular(x, y)).r)[0]),
        NEAP_ROW(real(linalg::det(complex_regular(x, y)))),
        NEAP_ROW(imag(linalg::solve(complex_regular(x, y), complex(y, x)))),
        NEAP_ROW(linalg::eigvalsh(complex(apart(x, x), outer(sin(x), cos(x)) - outer(cos(x), sin(x))))),
        NEAP_ROW(cg(definite(x), y, {}, {.tol = 1e-14})),
        NEAP_ROW(bicgstab(regular(x, y), y, {}, {.tol = 1e-14})),
        NEAP_ROW(gmres(regular(x, y), y, {}, {.tol = 1e-14})),
        NEAP_ROW(custom_linear_solve([a = definite(x)](const Array& v) { return matmul(a, v); }, y,
                                     [a = definite(x)](const auto&, const Array& b) { return linalg::solve(a, b); },
                                     true)),
        NEAP_ROW(custom_root(
            [&](const Array& r) { return r * r * r + r - y; }, y,
            [](const auto& f, const Array& r) {
              return fori_loop(0, 40, [&](const Array&, const Array& c) { return c - f(c) / (3.0 * c * c + 1.0); }, r);
            },
            [](const auto& g, const Array& b) { return b / g(ones_like(b)); })),
    };
  }
  static std::vector<Row> over_axes() {
    return {
        NEAP_ROW(logsumexp(x)),
        NEAP_ROW(logsumexp(stack({x, y}), 0)),
        NEAP_ROW(logsumexp(stack({x, x, 2.0 * y}), 0)),
        NEAP_ROW(softmax(x)),
        NEAP_ROW(softmax(stack({x, y}), 0)[0]),
        NEAP_ROW(log_softmax(x)),
        NEAP_ROW(cumlogsumexp(x)),
        NEAP_ROW(cumsum(x)),
        NEAP_ROW(cumprod(x)),
        NEAP_ROW(prod(x)),
        NEAP_ROW(prod(stack({x, y, x}), 0)),
        NEAP_ROW(mean(x)),
        NEAP_ROW(var(x)),
        NEAP_ROW(std(concatenate({x, x + 1.0}))),
        NEAP_ROW(standardize(concatenate({x, y + 1.0}))[slice(x.size())]),
        NEAP_ROW(sum(x * y)),
        NEAP_ROW(sum(tanh(sort(x)))),
        NEAP_ROW(logsumexp(sort(x))),
        NEAP_ROW(flip(x) * y),
        NEAP_ROW(roll(x, 1) * y),
        NEAP_ROW(take(x, zeros({x.size()}, i32)) * y),
        NEAP_ROW(x.at(zeros({2}, i32)).add(stack({y[0], sin(y[0])}))),
        NEAP_ROW(x.at(zeros({2}, i32)).mul(stack({y[0], sin(y[0])}))),
        NEAP_ROW(x.at(0).set(y[0] * y[0])),
        NEAP_ROW(matmul(outer(x, y), y)),
        NEAP_ROW(matmul(outer(x, x), x)),
        NEAP_ROW(einsum("i,j,j->i", {x, y, x})),
        NEAP_ROW(convolve(x, y, ConvolveMode::same)),
        NEAP_ROW(polyval(stack({x[0], y[0], x[0]}), y)),
        NEAP_ROW(average(x, 2.0 + sin(y), 0)),
        NEAP_ROW(glu(concatenate({x, y}))),
        NEAP_ROW(linalg::det(outer(x, y) + 3.0 * eye(x.size(), x.size(), f64))),
        NEAP_ROW(linalg::solve(outer(x, x) + 2.0 * eye(x.size(), x.size(), f64), y)),
        NEAP_ROW(vmap([](const Array& a) { return logaddexp(a, a * a); })(x)),
        NEAP_ROW(associative_scan([](const Array& a, const Array& b) { return logaddexp(a, b); }, x)),
        NEAP_ROW(fori_loop(
            0, 3, [&](const Array&, const Array& c) { return logaddexp(c, y) - 0.5; }, x)),
        NEAP_ROW(with_rows_of(stack({x, y, x * y}), x)),
        NEAP_ROW(real(fft::fft(x))),
        NEAP_ROW(imag(fft::ifft(complex(x, y)))),
        NEAP_ROW(sum(square(real(fft::rfft(concatenate({x, y})))))),
        NEAP_ROW(fft::irfft(complex(x, y), {.n = 2 * x.size()})[slice(x.size())]),
        NEAP_ROW(checkpoint([](const Array& a) { return softplus(sin(a)); })(x)),
        NEAP_ROW(cond(
            x[0] > y[0], [](const Array& a) { return softplus(a); }, [](const Array& a) { return softplus(a); }, x)),
    };
  }
#undef NEAP_ROW

  Random random_;
  std::vector<Step> steps_;
};

}  // namespace neap::conformance
