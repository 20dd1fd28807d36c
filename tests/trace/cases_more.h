// Cases of the later functions of the library: segments, windows, attention, images, signals.
#pragma once

#include <neap/creation.h>
#include <neap/image.h>
#include <neap/linalg.h>
#include <neap/nn.h>
#include <neap/numpy.h>
#include <neap/reduce.h>
#include <neap/signal.h>

#include <vector>

#include "tests/trace/case.h"

namespace neap::tracing {

inline std::vector<Case> more_cases() {
  const Aval m{{3, 4}, f64};
  return {
      {"segments",
       {m, {{3}, i32}},
       [](const Arrays& in) {
         return Arrays{segment_sum(in[0], in[1], 3), segment_prod(in[0], in[1], 3),
                       clip(segment_max(in[0], in[1], 2), -9, 9), clip(segment_min(in[0], in[1], 3), -9, 9)};
       },
       -2,
       2,
       -1,
       2},
      {"diagonals",
       {m, {{2, 3, 3}, f64}},
       [](const Arrays& in) {
         return Arrays{trace(in[0], 1), trace(in[1], 0, 1, 2), linalg::block_diag({in[0], in[1][0], in[0][1]})};
       }},
      {"windows",
       {m, {{13}, f64}},
       [](const Arrays& in) {
         const auto join = [](const Array& x, const Array& y) { return logaddexp(x, y); };
         const auto times = [](const Array& x, const Array& y) { return x * y; };
         return Arrays{reduce_window(in[0], -9.0, join, {2, 3}, {.padding = {{1, 0}, {0, 1}}}),
                       reduce_window(in[1], 1.0, times, {9}), reduce(in[0], -9.0, join, 0), reduce(in[0], 1.0, times),
                       sum_pool(in[1], {4}, {.stride = {3}})};
       }},
      {"attention",
       {{{2, 3, 4, 2}, f64}, {{2, 5, 2, 2}, f64}, {{2, 5, 2, 2}, f64}, {{4, 3, 5}, f64}},
       [](const Arrays& in) {
         return Arrays{
             dot_product_attention(in[0], in[1], in[2], {.bias = in[3]}),
             dot_product_attention(in[0], in[1], in[2], {.is_causal = true, .key_value_seq_lengths = full({2}, 2)})};
       }},
      {"images",
       {{{2, 5, 4}, f64}, {{2}, f64}},
       [](const Arrays& in) {
         using image::Method;
         const Array scale = 1.2 + 0.1 * in[1];  // bends where scale is 1
         return Arrays{image::resize(in[0], {2, 3, 7}, Method::linear), image::resize(in[0], {2, 10, 2}, Method::cubic),
                       image::resize(in[0], {2, 3, 8}, Method::nearest),
                       image::scale_and_translate(in[0], {2, 4, 5}, {1, 2}, scale, 0.1 * in[1], Method::cubic)};
       }},
      {"signals",
       {m, {{2, 3}, f64}},
       [](const Arrays& in) {
         return Arrays{signal::fftconvolve(in[0], in[1], ConvolveMode::same), signal::fftconvolve(in[0], in[0], {}, 1),
                       signal::correlate2d(in[0], in[1], ConvolveMode::same),
                       signal::convolve(in[1], in[0], ConvolveMode::valid)};
       }},
      {"places",
       {m, {{5}, f64}},
       [](const Arrays& in) {
         return Arrays{insert(in[0], {1, 0}, in[1][slice(4)], 0), delete_(in[0], {1}, 1),
                       put_along_axis(in[0], argsort(in[0], 1), 2 * in[0], 1),
                       select({in[1] > 1, in[1] > 0}, {square(in[1]), in[1]}), frexp(in[1]).first};
       }},
      {"polynomials",
       {{{5}, f64}, {{3}, f64}},
       [](const Arrays& in) {
         return Arrays{polyadd(in[0], in[1]), polymul(in[0], in[1]), polyder(in[0], 2), polyint(in[0]),
                       polyfit(linspace(0, 1, 5, f64), in[0], 2)};
       }},
      {"precision", {m}, [](const Arrays& in) { return Arrays{in[0].at(slice(1)).divide(in[0][2] + 9)}; }},
      {"bits",
       {{{6}, i32}, {{6}, i32}},
       [](const Arrays& in) {
         return Arrays{gcd(in[0], in[1]),  lcm(in[0], in[1]),
                       packbits(in[0]),    unpackbits(in[0].astype(u8)),
                       bitcast(in[0], u8), bitcast(reshape(in[1], {3, 2}), u64)};
       },
       -2,
       2,
       -9,
       9},
      {"sets",
       {{{6}, i32}, {{5}, i32}},
       [](const Arrays& in) {
         return Arrays{isin(in[0], in[1]),
                       union1d(in[0], in[1], 7),
                       intersect1d(in[0], in[1], 4),
                       setdiff1d(in[0], in[1], 4, -9),
                       argwhere(in[0], 4),
                       lexsort({in[0], flip(in[0])}),
                       unravel_index(in[0], {2, 2})[1],
                       ravel_multi_index({in[0], flip(in[0])}, {2, 3}, IndexRange::wrap)};
       },
       -2,
       2,
       -5,
       5},
  };
}

}  // namespace neap::tracing
