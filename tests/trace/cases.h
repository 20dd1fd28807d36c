// Functions of every kind of op, as graphs: what the generic tests of transforms walk.
#pragma once

#include <neap/control.h>
#include <neap/creation.h>
#include <neap/linalg.h>
#include <neap/numpy.h>
#include <neap/ops.h>
#include <neap/random.h>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/dispatch.h"
#include "tests/trace/host.h"
#include "tests/trace/samples.h"
#include "trace/tracing.h"

namespace neap::tracing {

struct Case {
  std::string name;
  std::vector<Aval> inputs;
  ArrayFunction f;
  double low = -2, high = 2;          // floating inputs
  int64_t int_low = 0, int_high = 3;  // integer inputs, high included

  Graph graph() const { return trace_closed(inputs, f, name); }
};

inline HostValue random_value(const Aval& aval, std::mt19937_64& rng, const Case& c) {
  std::uniform_real_distribution<double> real(c.low, c.high);
  std::uniform_int_distribution<int64_t> integer(c.int_low, c.int_high);
  HostValue value{aval, allocate(aval.bytes(), "test")};
  dispatch(aval.dtype, [&]<class T>() {
    for (int64_t i = 0; i < aval.size(); ++i) {
      if constexpr (std::is_same_v<T, bool>)
        value.data->as<T>()[i] = integer(rng) % 2 != 0;
      else if constexpr (std::is_integral_v<T>)
        value.data->as<T>()[i] = static_cast<T>(integer(rng));
      else
        value.data->as<T>()[i] = T(static_cast<float>(real(rng)));
    }
  });
  return value;
}

/// One case for each elementwise row, in f64 (integers where the row takes no floats), inside the op's domain.
inline std::vector<Case> elementwise_cases() {
  std::vector<Case> cases;
  for (const Op op : elementwise_ops()) {
    const DType dtype = op_info(op).types == TypeRule::integral ? i32 : f64;
    const Graph g = sample_graph(op, dtype);
    Case c{std::string(name(op)), {}, [g](const Arrays& in) { return inline_graph(g, in); }};
    for (const ValueId v : g.inputs) c.inputs.push_back(g.aval(v));
    switch (op) {
      case Op::log:
      case Op::log2:
      case Op::log10:
      case Op::sqrt:
      case Op::rsqrt:
      case Op::pow:
      case Op::lgamma:
      case Op::digamma: c.low = 0.3, c.high = 3; break;
      case Op::asin:
      case Op::acos:
      case Op::atanh:
      case Op::log1p:
      case Op::erf_inv: c.low = -0.9, c.high = 0.9; break;
      case Op::acosh: c.low = 1.2, c.high = 3; break;
      default: break;
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

inline Array apply_indexed(Op op, const Arrays& in, Ints axes, IndexMode mode) {
  return apply(op, in, {{Attr::axes, std::move(axes)}, {Attr::mode, static_cast<int64_t>(mode)}}, {});
}

inline std::vector<Case> structural_cases() {
  const Aval m{{3, 4}, f64}, v{{4}, f64}, s{{}, f64};
  std::vector<Case> cases{
      {"convert", {m}, [](const Arrays& in) { return Arrays{convert(in[0], f32), convert(in[0], i32)}; }},
      {"broadcast",
       {{{3, 1}, f64}},
       [](const Arrays& in) { return Arrays{broadcast_in_dim(in[0], {2, 3, 4}, {1, 2})}; }},
      {"reshape", {m}, [](const Arrays& in) { return Arrays{reshape(in[0], {2, 6})}; }},
      {"transpose", {{{2, 3, 4}, f64}}, [](const Arrays& in) { return Arrays{transpose(in[0], Shape{2, 0, 1})}; }},
      {"slice", {m}, [](const Arrays& in) { return Arrays{strided_slice(in[0], {1, 0}, {3, 4}, Shape{1, 3})}; }},
      {"slice_empty", {m}, [](const Arrays& in) { return Arrays{strided_slice(in[0], {1, 0}, {1, 4})}; }},
      {"pad", {m, s}, [](const Arrays& in) { return Arrays{pad(in[0], {1, -1}, {-1, 2}, in[1], Shape{2, 1})}; }},
      {"pad_plain", {m}, [](const Arrays& in) { return Arrays{pad(in[0], {1, 0}, {0, 2}, 1.5)}; }},
      {"concatenate",
       {m, {{3, 2}, f64}},
       [](const Arrays& in) { return Arrays{concatenate({in[0], in[1], in[0]}, 1)}; }},
      {"reverse", {m}, [](const Arrays& in) { return Arrays{reverse(in[0], {1})}; }},
      {"dynamic_slice",
       {m, {{2}, i64}},
       [](const Arrays& in) { return Arrays{dynamic_slice(in[0], in[1], {2, 2})}; },
       -2,
       2,
       -1,
       4},
      {"dynamic_slice_whole",
       {m, {{2}, i64}},
       [](const Arrays& in) { return Arrays{dynamic_slice(in[0], in[1], {2, 4})}; },
       -2,
       2,
       -1,
       4},
      {"dynamic_update_slice",
       {m, {{2, 2}, f64}, {{2}, i64}},
       [](const Arrays& in) { return Arrays{dynamic_update_slice(in[0], in[1], in[2])}; },
       -2,
       2,
       -1,
       4},
      {"reduce_sum", {{{2, 3, 4}, f64}}, [](const Arrays& in) { return Arrays{sum(in[0], {0, 2})}; }},
      {"reduce_prod", {{{2, 3, 5}, f64}}, [](const Arrays& in) { return Arrays{prod(in[0], {0, 2}), prod(in[0], 1)}; }},
      {"reduce_max", {{{2, 3, 4}, f64}}, [](const Arrays& in) { return Arrays{max(in[0], {0, 2})}; }},
      {"reduce_min", {{{2, 3, 4}, f64}}, [](const Arrays& in) { return Arrays{min(in[0], 1)}; }},
      {"reduce_any", {{{3, 4}, bool_}}, [](const Arrays& in) { return Arrays{any(in[0], 0), all(in[0], 1)}; }},
      {"argmax", {m}, [](const Arrays& in) { return Arrays{argmax(in[0], 1), argmin(in[0], 0), in[0] * in[0]}; }},
      {"sort",
       {m, {{2, 3, 4}, f64}},
       [](const Arrays& in) {
         return Arrays{sort(in[0]), sort(in[1], 1, {.descending = true}), argsort(in[1], 0), argsort(in[0], 1)};
       }},
      {"matmul", {m, {{4, 2}, f64}}, [](const Arrays& in) { return Arrays{matmul(in[0], in[1])}; }},
      {"dot_general",
       {{{5, 3, 2, 4}, f64}, {{4, 6, 3, 2}, f64}},
       [](const Arrays& in) { return Arrays{dot_general(in[0], in[1], {3, 2}, {0, 3}, {1}, {2})}; }},
      {"square_matmul", {{{3, 3}, f64}}, [](const Arrays& in) { return Arrays{matmul(in[0], in[0])}; }},
      {"softmax",
       {m},
       [](const Arrays& in) { return Arrays{log_softmax(in[0]), softmax(in[0], 0), logsumexp(in[0])}; }},
      {"chain",
       {m, v},
       [](const Arrays& in) { return Arrays{sum(tanh(in[0] * in[1] + 1) / (2 + in[1] * in[1])), gelu(in[1])}; }},
      {"integers",
       {m, {{3, 4}, i32}},
       [](const Arrays& in) { return Arrays{in[0] * in[1].astype(f64), in[1] + 1, convert(in[0], i32)}; }},
      {"random",
       {{{2}, u32}, s},
       [](const Arrays& in) {
         return Arrays{random::normal(in[0], {3, 2}, f64) * in[1], random::fold_in(in[0], 3), random::split(in[0], 2),
                       random::bits(in[0], {3}, u16)};
       }},
  };
  const std::pair<const char*, IndexMode> modes[] = {
      {"clip", IndexMode::clip}, {"drop", IndexMode::fill_or_drop}, {"clamp", IndexMode::clamp_update}};
  for (const auto& [label, mode] : modes) {
    const auto named = [&](const char* what) { return std::string(what) + "_" + label; };
    if (mode != IndexMode::clamp_update) {
      // Out-of-range reads of mode fill give NaN, which finite differences cannot compare: they are put to zero.
      const auto no_nan = [](const Array& x) { return select(isnan(x), zeros_like(x), x); };
      cases.push_back({named("gather"),
                       {m, {{5, 2}, i32}},
                       [=](const Arrays& in) { return Arrays{no_nan(apply_indexed(Op::gather, in, {0, 1}, mode))}; },
                       -2,
                       2,
                       -6,
                       6});
      cases.push_back({named("gather_rows"),
                       {{{4, 3, 2}, f64}, {{2, 3, 1}, i16}},
                       [=](const Arrays& in) { return Arrays{no_nan(apply_indexed(Op::gather, in, {1}, mode))}; },
                       -2,
                       2,
                       -5,
                       5});
    }
    for (const Op op : {Op::scatter_set, Op::scatter_add, Op::scatter_mul, Op::scatter_min, Op::scatter_max}) {
      const std::string n = std::string(name(op));
      cases.push_back({named(n.c_str()),
                       {m, {{5, 2}, i32}, {{5}, f64}},
                       [=](const Arrays& in) { return Arrays{apply_indexed(op, in, {0, 1}, mode)}; },
                       -2,
                       2,
                       -6,
                       6});
      cases.push_back({named((n + "_rows").c_str()),
                       {{{4, 3, 2}, f64}, {{2, 2, 1}, i16}, {{2, 2, 4, 2}, f64}},
                       [=](const Arrays& in) { return Arrays{apply_indexed(op, in, {1}, mode)}; },
                       -2,
                       2,
                       -5,
                       5});
    }
  }
  cases.push_back({"gather_u8",
                   {{{7}, f64}, {{4, 1}, u8}},
                   [](const Arrays& in) { return Arrays{gather(in[0], in[1])}; },
                   -2,
                   2,
                   0,
                   200});
  cases.push_back({"gather_i8_long",
                   {{{200}, f64}, {{4, 1}, i8}},
                   [](const Arrays& in) { return Arrays{gather(in[0], in[1])}; },
                   -2,
                   2,
                   -128,
                   127});
  cases.push_back({"scatter_u8",
                   {{{7}, f64}, {{4, 1}, u8}, {{4}, f64}},
                   [](const Arrays& in) { return Arrays{scatter_add(in[0], in[1], in[2])}; },
                   -2,
                   2,
                   0,
                   12});
  cases.push_back({"indexing",
                   {m, {{3}, i32}},
                   [](const Arrays& in) {
                     return Arrays{in[0][{in[1], slice(1, 3)}], in[0].at({in[1], 1}).set(in[0][{0, slice(0, 3)}]),
                                   take_along_axis(in[0], reshape(in[1], {3, 1}), 1)};
                   },
                   -2,
                   2,
                   -3,
                   2});
  return cases;
}

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

// Matrices kept away from where a factorization is not smooth: pivots that change, equal singular values.
inline std::vector<Case> linalg_cases() {
  const Aval a{{4, 4}, f64}, pair{{2, 3, 3}, f64}, tall{{5, 3}, f64}, wide{{3, 5}, f64};
  const auto unit = [](const Array& x) { return eye(x.shape(-2), x.shape(-1), f64); };
  const auto positive = [=](const Array& x) { return matmul(x, swapaxes(x, -1, -2)) + 2 * unit(x); };
  const auto steady = [=](const Array& x) { return x + 9 * unit(x); };
  const auto apart = [=](const Array& x) { return x + 9 * unit(x) * (1 + arange(x.shape(-1)).astype(f64)); };
  return {
      {"cholesky", {pair}, [=](const Arrays& in) { return Arrays{linalg::cholesky(positive(in[0]))}; }},
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

inline std::vector<Case> all_cases() {
  std::vector<Case> cases = elementwise_cases();
  for (auto more : {structural_cases(), scan_cases(), branch_cases(), numpy_cases(), linalg_cases()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

inline std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
inline void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

}  // namespace neap::tracing
