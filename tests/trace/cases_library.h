// Cases of functions made of several ops: linear algebra, numpy.h.
#pragma once

#include <neap/creation.h>
#include <neap/linalg.h>
#include <neap/numpy.h>
#include <neap/ops.h>

#include <vector>

#include "tests/trace/case.h"

namespace neap::tracing {

// Matrices kept away from where a factorization is not smooth: pivots that change, equal singular values.
inline std::vector<Case> linalg_cases() {
  const Aval a{{4, 4}, f64}, pair{{2, 3, 3}, f64}, tall{{5, 3}, f64}, wide{{3, 5}, f64};
  const auto unit = [](const Array& x) { return eye(x.shape(-2), x.shape(-1), f64); };
  const auto positive = [=](const Array& x) { return matmul(x, swapaxes(x, -1, -2)) + 2 * unit(x); };
  const auto steady = [=](const Array& x) { return x + 9 * unit(x); };
  const auto apart = [=](const Array& x) { return x + 9 * unit(x) * (1 + arange(x.shape(-1)).astype(f64)); };
  return {
      {"cholesky", {pair}, [=](const Arrays& in) { return Arrays{linalg::cholesky(positive(in[0]))}; }},
      {"cholesky_derivatives",
       {pair, pair, a, {{2, 4, 4}, f64}},
       [=](const Arrays& in) {
         const Array l = steady(in[0]), one = steady(in[2]);  // one factor of many
         const Attrs apart{{Attr::packed, int64_t{0}}};
         return Arrays{
             apply(Op::cholesky_tangent, {l, in[1]}, {}, {}), apply(Op::cholesky_cotangent, {l, in[1]}, apart, {}),
             apply(Op::cholesky_tangent, {one, in[3]}, {}, {}), apply(Op::cholesky_cotangent, {one, in[3]}, apart, {}),
             apply(Op::cholesky_tangent, {one, one}, {}, {})};
       }},
      {"triangular_solve",
       {pair, {{2, 3, 2}, f64}},
       [=](const Arrays& in) {
         using linalg::triangular_solve;
         const Array t = steady(in[0]), other = swapaxes(in[1], -1, -2);
         return Arrays{triangular_solve(t, in[1], {.lower = true}),
                       triangular_solve(t, in[1], {.transpose_a = true, .unit_diagonal = true}),
                       triangular_solve(t, other, {.left_side = false, .lower = true, .transpose_a = true})};
       }},
      {"lu",
       {pair, tall, wide},
       [=](const Arrays& in) {
         return Arrays{linalg::lu(flip(steady(in[0]), -2)).lu, linalg::lu(steady(in[1])).lu,
                       linalg::lu(steady(in[2])).lu};
       }},
      {"qr",
       {pair, tall, wide},
       [=](const Arrays& in) {
         Arrays out;
         for (const Array& x : in) {
           const linalg::Qr f = linalg::qr(steady(x));
           out.push_back(f.q), out.push_back(f.r);
         }
         return out;
       }},
      {"eigh",
       {pair},
       [=](const Arrays& in) {
         const linalg::Eigh f = linalg::eigh(apart(in[0]));
         return Arrays{f.eigenvalues, f.eigenvectors, linalg::eigvalsh(apart(in[0]))};
       }},
      {"svd",
       {pair, tall, wide},
       [=](const Arrays& in) {
         Arrays out{linalg::svdvals(apart(in[1]))};
         for (const Array& x : in) {
           const linalg::Svd f = linalg::svd(apart(x), false);
           out.push_back(f.u), out.push_back(f.s), out.push_back(f.vh);
         }
         return out;
       }},
      {"solve",
       {pair, {{3}, f64}, {{3, 2}, f64}},
       [=](const Arrays& in) {
         const Array t = steady(in[0]);
         return Arrays{linalg::solve(t, in[1]), linalg::solve(positive(in[0]), in[2], true),
                       linalg::solve(t[{0}], in[0]), linalg::inv(t)};
       }},
      {"determinants",
       {a, pair},
       [=](const Arrays& in) {
         const linalg::Slogdet f = linalg::slogdet(steady(in[0]));
         return Arrays{linalg::det(steady(in[0])), linalg::det(in[1]), f.sign, f.logabsdet};
       }},
  };
}

// Functions of numpy.h whose derivative is not that of one op.
inline std::vector<Case> numpy_cases() {
  const Aval m{{3, 4}, f64}, v{{5}, f64}, block{{2, 37}, f64};
  return {
      {"cumulative",
       {m, block},
       [](const Arrays& in) {
         return Arrays{cumsum(in[0], 0, true),      cumprod(in[0], 1),      cummax(in[0], 1),
                       cummin(in[0], 0, true),      cumlogsumexp(in[0], 1), cumsum(in[1], 1),
                       cumlogsumexp(in[1], 1, true)};
       }},
      {"quantiles",
       {m, v},
       [](const Arrays& in) {
         return Arrays{quantile(in[0], linspace(0.1, 0.85, 2, f64), 1), median(in[0], 0), percentile(in[1], 30.0)};
       }},
      {"moments",
       {m, block},
       [](const Arrays& in) { return Arrays{cov(in[0]), corrcoef(in[0]), standardize(in[1], -1), nanvar(in[0], 0)}; }},
      {"moved",
       {m, v},
       [](const Arrays& in) {
         return Arrays{roll(in[0], 3),
                       rot90(in[0]),
                       diagonal(in[0], -1),
                       diag(in[1], 1),
                       tril(in[0], 1),
                       diff(in[0], 2, 1),
                       gradient(in[1]),
                       repeat(in[0], 2, 1),
                       vander(in[1], 4),
                       kron(in[0], in[1]),
                       trapezoid(in[0]),
                       pad(in[0], {{2, 1}, {3, 5}}, PadMode::reflect),
                       repeat(in[1], iota({5}, 0), 11),
                       top_k(in[0], 2).first};
       }},
      {"einsum",
       {{{2, 3, 4}, f64}, {{4, 3}, f64}, {{2, 4}, f64}},
       [](const Arrays& in) {
         return Arrays{einsum("bij,ji,bj->bi", in), einsum("...ij->...ji", {in[0]}),
                       einsum("ij,ji", {in[1], transpose(in[1])}), einsum("ii->i", {in[0][0][{slice(), slice(3)}]})};
       }},
      {"convolutions",
       {{{2, 4, 5}, f64}, {{2, 2, 3}, f64}, v},
       [](const Arrays& in) {
         return Arrays{conv_general(in[0], in[1], {.stride = {2}, .padding = {{1, 2}}, .groups = 2}),
                       conv_general(in[0], in[1], {.same = true, .input_dilation = {2}, .groups = 2}),
                       convolve(in[2], in[2] * 2.0), max_pool(in[0], {2, 2}), avg_pool(in[0], {3}, {.same = true})};
       }},
      {"special",
       {v},
       [](const Arrays& in) {
         const Array p = sigmoid(in[0]);
         return Arrays{sinc(in[0]),
                       logit(p),
                       entr(p),
                       xlogy(p, p + 1.0),
                       ndtr(in[0]),
                       betaln(p, p + 1.0),
                       logaddexp2(in[0], p),
                       elu(in[0]),
                       celu(in[0]),
                       gelu_tanh(in[0]),
                       mish(in[0]),
                       squareplus(in[0]),
                       log_sigmoid(in[0]),
                       soft_sign(in[0]),
                       interp(p, linspace(0.0, 1.0, 4, f64), square(linspace(0.0, 1.0, 4, f64)))};
       }},
  };
}

}  // namespace neap::tracing
