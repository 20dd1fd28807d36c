// Cases of loops and branches.
#pragma once

#include <neap/control.h>
#include <neap/creation.h>
#include <neap/ops.h>

#include <vector>

#include "tests/trace/case.h"

namespace neap::tracing {

inline std::vector<Case> scan_cases() {
  const Aval v{{4}, f64}, xs{{5, 4}, f64};
  return {
      {"scan_sum",
       {v, xs},
       [](const Arrays& in) {
         auto [c, ys] = scan([](const Array& c, const Array& x) { return std::pair{c + x, c * 2}; }, in[0], in[1]);
         return Arrays{c, ys};
       }},
      {"scan_nonlinear",
       {v, xs, v},
       [](const Arrays& in) {
         auto [c, ys] = scan([&](const Array& c, const Array& x) { return std::pair{tanh(c * in[2] + x), sin(c) * x}; },
                             in[0], in[1]);
         return Arrays{c, ys};
       }},
      {"scan_reverse",
       {v, xs, v},
       [](const Arrays& in) {
         auto [c, ys] = scan([&](const Array& c, const Array& x) { return std::pair{c * in[2] + exp(x), c}; }, in[0],
                             in[1], {}, true);
         return Arrays{c, ys};
       }},
      {"scan_matmul",
       {{{4, 4}, f64}, {{4, 4}, f64}},
       [](const Arrays& in) {
         return Arrays{fori_loop(
             0, 3, [&](const Array& i, const Array& c) { return tanh(matmul(c, in[1]) + i.astype(f64)); }, in[0])};
       }},
      {"scan_two_carries",
       {v, xs},
       [](const Arrays& in) {  // the second carry starts constant and becomes active
         auto [c, ys] = scan(
             [](const std::pair<Array, Array>& c, const Array& x) {
               return std::pair{std::pair{c.first * x, c.second + c.first * c.first}, c.second};
             },
             std::pair{in[0], zeros({4}, f64)}, in[1]);
         return Arrays{c.first, c.second, ys};
       }},
      {"scan_overwritten",
       {v, xs},
       [](const Arrays& in) {  // the carry's tangent ends at each step
         auto [c, ys] =
             scan([](const Array& c, const Array& x) { return std::pair{ones_like(c), c * x}; }, in[0], in[1]);
         return Arrays{c, ys};
       }},
      {"scan_integer",
       {v, {{3}, i32}},
       [](const Arrays& in) {
         auto [c, ys] = scan(
             [&](const std::pair<Array, Array>& c, const Array& k) {
               return std::pair{std::pair{c.first + k, c.second * in[0][{c.first % 4}]}, c.first};
             },
             std::pair{full({}, 1, i32), in[0]}, in[1]);
         return Arrays{c.first, c.second, ys};
       }},
      {"scan_random",
       {v, {{2}, u32}},
       [](const Arrays& in) {
         auto [c, ys] = scan(
             [&](const std::pair<Array, Array>& c, const Array& i) {
               const Array key = random::fold_in(c.second, i.astype(u32));
               return std::pair{std::pair{c.first * cos(random::normal(key, {4}, f64) * in[0]), key}, sum(c.first)};
             },
             std::pair{in[0], in[1]}, arange(4));
         return Arrays{c.first, ys};
       }},
      {"scan_nested",
       {v, xs, v},
       [](const Arrays& in) {
         auto [c, ys] = scan(
             [&](const Array& c, const Array& x) {
               const Array inner = fori_loop(0, 2, [&](const Array&, const Array& d) { return sin(d * in[2]) + x; }, c);
               return std::pair{inner * 0.5, inner * c};
             },
             in[0], in[1]);
         return Arrays{c, ys};
       }},
      {"scan_reads_rows",  // by a gather, a window, and whole
       {{{7, 3}, f64}, {{5, 2}, i32}, {{3}, f64}},
       [](const Arrays& in) {
         const Array& table = in[0];
         return Arrays{scan(
                           [&](const Array& c, const Array& i) {
                             const Array rows = sum(sin(take(table, i, 0)), {0});
                             const Array window = dynamic_slice(table, stack({i[0], array(0)}), {2, 3});
                             return std::pair{c * 0.5 + rows * window[1] + 0.1 * mean(table, {0}), nullptr};
                           },
                           in[2], in[1])
                           .first};
       },
       -2,
       2,
       0,
       6},
      {"scan_reads_rows_inside",  // in a loop and a branch of its body, and outside
       {{{7, 3}, f64}, {{5, 2}, i32}, {{3}, f64}},
       [](const Arrays& in) {
         const Array& table = in[0];
         const auto each = [&](const Array& d, const Array& j) {
           return std::pair{d * 0.5 + tanh(take(table, j, 0)), nullptr};
         };
         const auto step = [&](const Array& c, const Array& i) {
           const Array all = scan(each, c, i).first;
           return std::pair{cond(
                                i[0] % 2 == 0, [&](const Array& a) { return a * take(table, i[1], 0); },
                                [&](const Array& a) { return a + table[2]; }, all),
                            nullptr};
         };
         return Arrays{take(table, in[1][{0, 0}], 0) * scan(step, in[2], in[1]).first};
       },
       -2,
       2,
       0,
       6},
      {"scan_empty",
       {v, {{0, 4}, f64}},
       [](const Arrays& in) {
         auto [c, ys] = scan([](const Array& c, const Array& x) { return std::pair{c * x, c}; }, in[0], in[1]);
         return Arrays{c, ys};
       }},
  };
}

// Branches: derivatives in both modes.
inline std::vector<Case> branch_cases() {
  const Aval v{{4}, f64}, m{{4, 4}, f64}, n{{}, i32};
  return {
      {"cond_of_data",
       {v, v},
       [](const Arrays& in) {  // the predicate depends on what is differentiated; in[1] is closed over
         return Arrays{cond(
             sum(in[0]) > sum(in[1]), [&](const Array& x) { return sin(x) * in[1]; },
             [](const Array& x) { return x * x * x; }, in[0])};
       }},
      {"cond_of_integer",
       {v, n},
       [](const Arrays& in) {
         return Arrays{
             cond(in[1] % 2, [](const Array& x) { return tanh(x); }, [](const Array& x) { return x * 3; }, in[0])};
       }},
      {"cond_of_constants",
       {v, n},
       [](const Arrays& in) {  // each result depends on x in one branch only
         const auto [a, b] = cond(
             in[1] > 1, [](const Array& x) { return std::pair{exp(x), ones({2}, f64)}; },
             [](const Array& x) { return std::pair{zeros({4}, f64), x[{slice(2)}]}; }, in[0]);
         return Arrays{a, b};
       }},
      {"cond_of_products",
       {m, v, n},
       [](const Arrays& in) {  // what is dear to compute is kept for the way back
         return Arrays{cond(
             in[2] == 1, [](const Array& a, const Array& x) { return tanh(matmul(a, sin(matmul(a, x)))); },
             [](const Array& a, const Array& x) { return cos(matmul(a, x)) * sum(x); }, in[0], in[1])};
       }},
      {"cond_nested",
       {v, n, n},
       [](const Arrays& in) {
         return Arrays{cond(
             in[1] > 0,
             [&](const Array& x) {
               return cond(
                   in[2] > 1, [](const Array& y) { return sin(y); }, [&](const Array& y) { return y * in[0]; }, x * 2);
             },
             [](const Array& x) { return x - 1; }, in[0])};
       }},
      {"cond_of_scan",
       {v, {{3, 4}, f64}, n},
       [](const Arrays& in) {
         return Arrays{cond(
             in[2] > 1,
             [&](const Array& c) {
               return scan([](const Array& a, const Array& x) { return std::pair{tanh(a * x), nullptr}; }, c, in[1])
                   .first;
             },
             [](const Array& c) { return c; }, in[0])};
       }},
      {"cond_in_scan",
       {v, {{5, 4}, f64}},
       [](const Arrays& in) {
         auto [c, ys] = scan(
             [](const Array& c, const Array& x) {
               return std::pair{cond(
                                    x[{0}] > 0, [&](const Array& a) { return sin(a) * x; },
                                    [](const Array& a) { return a * 0.5; }, c),
                                c};
             },
             in[0], in[1]);
         return Arrays{c, ys};
       }},
      {"cond_random",
       {v, {{2}, u32}, n},
       [](const Arrays& in) {
         return Arrays{cond(
             in[2] > 1, [&](const Array& x) { return x * random::normal(in[1], {4}, f64); },
             [](const Array& x) { return x; }, in[0])};
       }},
      {"switch",
       {v, {{}, i64}},
       [](const Arrays& in) {  // of 0 to 3 the last is out of range
         return Arrays{switch_(in[1],
                               std::tuple{[](const Array& x) { return sin(x); }, [](const Array& x) { return -x; },
                                          [](const Array& x) { return x * x; }},
                               in[0])};
       }},
  };
}

// Loops that nobody knows the length of: derivatives forward only.
inline std::vector<Case> while_cases() {
  const Aval v{{4}, f64}, n{{}, i32};
  const auto decay = [](const Array& x) {  // halves and turns until small: steps depend on x
    return while_loop([](const Array& c) { return sum(c * c) > 0.5; },
                      [](const Array& c) { return c * 0.7 + 0.01 * sin(c); }, x);
  };
  return {
      {"while_of_data", {v}, [=](const Arrays& in) { return Arrays{decay(in[0])}; }},
      {"while_of_constant",
       {v, v, n},
       [](const Arrays& in) {  // closes over in[0] and in[2]; a carry that starts constant becomes active
         const auto [i, c, d] =
             while_loop([&](const std::tuple<Array, Array, Array>& s) { return std::get<0>(s) < in[2]; },
                        [&](const std::tuple<Array, Array, Array>& s) {
                          const auto& [i, c, d] = s;
                          return std::tuple{i + 1, tanh(c * in[0]), d + c};
                        },
                        std::tuple{full({}, 0, i32), in[1], zeros({4}, f64)});
         return Arrays{i, c, d};
       }},
      {"while_of_bounds",
       {v, n},
       [](const Arrays& in) {
         return Arrays{
             fori_loop(0, in[1], [](const Array& i, const Array& c) { return sin(c) + i.astype(f64); }, in[0])};
       }},
      {"while_in_scan",
       {v, {{3, 4}, f64}},
       [=](const Arrays& in) {
         auto [c, ys] = scan([=](const Array& c, const Array& x) { return std::pair{decay(c + x), c}; }, in[0], in[1]);
         return Arrays{c, ys};
       }},
      {"scan_and_cond_in_while",
       {v, {{3, 4}, f64}},
       [](const Arrays& in) {
         return Arrays{while_loop(
             [](const Array& c) { return any(abs(c) > 1.0); },
             [&](const Array& c) {
               const Array d =
                   scan([](const Array& a, const Array& x) { return std::pair{a * 0.8 + 0.01 * x, nullptr}; }, c, in[1])
                       .first;
               return cond(
                   sum(d) > 0, [](const Array& a) { return a * 0.9; }, [](const Array& a) { return sin(a) * 0.5; }, d);
             },
             in[0])};
       }},
      {"while_random",
       {v, {{2}, u32}},
       [](const Arrays& in) {
         const auto [c, key] =
             while_loop([](const std::pair<Array, Array>& s) { return max(abs(s.first)) > 0.5; },
                        [](const std::pair<Array, Array>& s) {
                          const Array keys = random::split(s.second);
                          return std::pair{s.first * (0.5 + 0.3 * random::uniform(keys[{0}], {4}, f64)), keys[{1}]};
                        },
                        std::pair{in[0], in[1]});
         return Arrays{c, key};
       }},
      {"while_in_cond",
       {v, n},
       [=](const Arrays& in) {
         return Arrays{
             cond(in[1] > 1, [=](const Array& x) { return decay(x * 2); }, [](const Array& x) { return x; }, in[0])};
       }},
  };
}

}  // namespace neap::tracing
