// Functions of every kind of op, as graphs: what the generic tests of transforms walk.
#pragma once

#include <neap/creation.h>
#include <neap/ops.h>
#include <neap/random.h>

#include <vector>

#include "tests/trace/case.h"
#include "tests/trace/cases_control.h"
#include "tests/trace/cases_library.h"
#include "tests/trace/cases_more.h"
#include "tests/trace/cases_special.h"
#include "tests/trace/samples.h"

namespace neap::tracing {

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
      {"reduce_xor", {{{3, 4}, i32}}, [](const Arrays& in) { return Arrays{reduce_xor(in[0], 0)}; }},
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

inline std::vector<Case> all_cases() {
  std::vector<Case> cases = elementwise_cases();
  for (auto more :
       {structural_cases(), scan_cases(), branch_cases(), numpy_cases(), special_cases(), linalg_cases(), more_cases()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

}  // namespace neap::tracing
