// Cases of special.h.
#pragma once

#include <neap/ops.h>
#include <neap/special.h>

#include <vector>

#include "tests/trace/case.h"

namespace neap::tracing {

// Arguments are kept from poles, and from where one formula ends and another begins.
inline std::vector<Case> special_cases() {
  const Aval v{{5}, f64};
  return {
      {"special_gamma",
       {v, v},
       [](const Arrays& in) {
         const Array p = exp(in[0]), q = exp(in[1]), below = -0.5 + 0.3 * tanh(in[0]);
         return Arrays{neap::gamma(p),   neap::gamma(below),       factorial(p), poch(p, q),
                       neap::beta(p, q), multigammaln(p + 2.0, 3), lgamma(p)};
       }},
      {"special_incomplete",
       {v, v, v},
       [](const Arrays& in) {
         const Array p = exp(in[0]), q = exp(in[1]);
         return Arrays{gammainc(p, q), gammaincc(p, q), betainc(p, q, sigmoid(in[2])), gammainc(20.0 * p, 20.0 * q)};
       }},
      {"special_bessel",
       {v},
       [](const Arrays& in) {
         const Array x = 6.0 * in[0];
         return Arrays{i0(in[0]), i0e(x), i1(in[0]), i1e(x)};
       }},
      {"special_integrals",
       {v, {{5}, i32}},
       [](const Arrays& in) {
         const Array p = exp(in[0]);
         return Arrays{expi(p), expi(-p), exp1(p), expn(in[1], p), expn(2, p), spence(p)};
       }},
      {"special_zeta",
       {v, v, {{5}, i32}},
       [](const Arrays& in) {
         const Array p = exp(in[0]), below = -3.5 + 0.3 * tanh(in[0]);
         return Arrays{zeta(p + 1.5, exp(in[1])), polygamma(in[2], p), polygamma(1, below), polygamma(2, below)};
       }},
      {"special_normal",
       {v},
       [](const Arrays& in) { return Arrays{log_ndtr(6.0 * in[0]), ndtri(sigmoid(3.0 * in[0]))}; }},
  };
}

}  // namespace neap::tracing
