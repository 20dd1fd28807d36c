// What must hold for every program with transforms on top, and the smallest program for which it does not.
#pragma once

#include "tests/conformance/check_program.h"
#include "tests/conformance/smooth_program.h"
#include "tests/conformance/transformed_program.h"
#include "trace/graph/effects.h"

namespace neap::conformance {

/// Where a sum of floats in another order is too far off: eps of the sum of magnitudes, for each term and one more.
inline std::string sum_difference(const Array& got, const Array& want, const Array& magnitude, double terms) {
  const DType t = got.dtype();
  const double last = t == f64 ? 0x1p-53 : 0x1p-24, rounded = t == f16 ? 0x1p-11 : t == bf16 ? 0x1p-8 : last;
  const auto a = got.to_vector<double>(), b = want.to_vector<double>(), m = magnitude.to_vector<double>();
  const double most = t == f16 ? 65504 : t == f64 ? 1e307 : 3e38;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(m[i] < most / 2)) continue;  // what overflows depends on the order
    const double bound = (terms * last + 2 * rounded) * m[i] + (t == f16 ? 0x1p-24 : 1e-37);
    if (!(std::abs(a[i] - b[i]) <= bound)) return fmt::format("element {}: {:.17g}, expected {:.17g}", i, a[i], b[i]);
  }
  return {};
}

/// Whether a product or sum may be added up in another order; but for sums whose error is known.
inline bool depends_on_order(Op op) {
  return op == Op::reduce_prod || op == Op::scatter_mul || op == Op::cumsum || op == Op::cumprod;
}

/// A node that is not what the reference makes of the operands that it had; empty if there is none.
inline std::string wrong_node(const Graph& graph, const Arrays& inputs, const std::string& said) {
  std::vector<Array> values;
  std::string expected_said;
  printed([&] { values = all_values(graph, inputs); });
  for (const tracing::Node& node : graph.nodes) {
    using tracing::Family;
    static constexpr Family kOfMany[] = {Family::control, Family::call, Family::factor, Family::fft};
    const bool of_many = std::ranges::find(kOfMany, tracing::op_info(node.op).family) != std::end(kOfMany);
    if (of_many && !tracing::calls_host(node)) continue;  // rounding errors of its sums may grow
    std::vector<HostArray> in, magnitudes;
    for (const ValueId v : node.inputs) in.push_back({graph.aval(v), values[v].impl()->data});
    HostArray expected;
    expected_said += printed([&] { expected = tracing::evaluate_reference(node.op, in, node.attrs)[0]; });
    if (of_many) continue;
    const Array want = detail::make_concrete(expected.aval, expected.data), got = values[node.out()];
    const bool sums = node.op == Op::reduce_sum || node.op == Op::dot_general || node.op == Op::convolution ||
                      node.op == Op::scatter_add;
    std::string d;
    if (sums && is_float(want.dtype())) {
      for (const ValueId v : node.inputs) {
        const Array m = is_float(graph.aval(v).dtype) ? abs(values[v]) : values[v];
        magnitudes.push_back({m.aval(), m.impl()->data});
      }
      const HostArray m = tracing::evaluate_reference(node.op, magnitudes, node.attrs)[0];
      const double terms = static_cast<double>(graph.aval(node.inputs.back()).size());
      d = sum_difference(got, want, detail::make_concrete(m.aval, m.data), terms);
    } else if (is_float(want.dtype()) && depends_on_order(node.op)) {
      continue;
    } else {
      d = difference(got, want, local_tolerance(graph, node));
    }
    if (!d.empty()) return fmt::format("%{} = {}: {}", node.out(), tracing::name(node.op), d);
  }
  if (names_of(said) != names_of(expected_said)) return fmt::format("says\n{}not\n{}", said, expected_said);
  return {};
}

/// What of a program is wrong; empty if nothing is.
inline std::string wrong_with(const Graph& graph, const Arrays& inputs, uint64_t seed) {
  const auto f = jitted(graph);
  const Run planned = run_compiled(f, inputs);
  if (planned.measured != planned.planned)
    return fmt::format("planned {} bytes, measured {}", planned.planned, planned.measured);
  const auto compare = [&](const Run& got, const std::string& what) -> std::string {
    for (size_t i = 0; i < got.outputs.size(); ++i) {
      const std::string d = difference(got.outputs[i], planned.outputs[i], kSameBits);
      if (!d.empty()) return fmt::format("{}, output {}: {}", what, i, d);
    }
    if (got.said != planned.said) return fmt::format("{} says\n{}not\n{}", what, got.said, planned.said);
    return {};
  };
  if (seed % 4 == 1) {
    const Threads one(1);
    if (std::string d = compare(called(f, inputs), "one thread"); !d.empty()) return d;
  }
  const Run naive = run(graph, inputs, {.pipeline = Pipeline::naive});
  if (naive.measured != naive.planned)
    return fmt::format("naive: planned {} bytes, measured {}", naive.planned, naive.measured);
  if (std::string d = compare(naive, "naive"); !d.empty()) return d;
  if (seed % 8 == 2) {
    size_t least = 0;
    try {
      jitted(graph, {.memory_budget = 1}).compile(inputs);
    } catch (const BudgetError& e) {
      least = e.smallest_peak_bytes();
    }
    const Run tight = run(graph, inputs, {.memory_budget = least});
    if (tight.measured != least) return fmt::format("budget {}, measured {}", least, tight.measured);
    if (std::string d = compare(tight, "the smallest budget"); !d.empty()) return d;
  }
  return wrong_node(graph, inputs, planned.said);
}

/// The derivative forward and its transpose are one linear map: <c, J t> = <J' c, t>. Empty where they are, where there
/// is nothing to differentiate, and where rounding would hide it.
inline std::string unequal_products(const Graph& graph, const Arrays& inputs, uint64_t seed) {
  for (const tracing::Value& v : graph.values)
    if (is_float(v.aval.dtype) && size_of(v.aval.dtype) == 2) return {};
  Random random(seed);
  const auto f = [graph](const Arrays& in) { return tracing::inline_graph(graph, in); };
  const auto tame = [&](const Aval& a) { return random_array(a, Fill::tame, random); };
  Arrays tangents, cotangents;
  for (const ValueId v : graph.inputs) tangents.push_back(tame(graph.aval(v)));
  for (const ValueId v : graph.outputs) cotangents.push_back(tame(graph.aval(v)));
  Arrays forward, back;
  const auto tangent = [&](const Arrays& x, const Arrays& t) { return jvp(f, std::tuple(x), std::tuple(t)).tangent; };
  const auto pulled = [&](const Arrays& x, const Arrays& c) { return vjp(f, x).second(c); };
  const auto said = names_of(called(jitted(graph), inputs).said);
  if (names_of(printed([&] { forward = jit(tangent)(inputs, tangents); })) != said) return "jvp says something else";
  if (names_of(printed([&] { back = jit(pulled)(inputs, cotangents); })) != said) return "vjp says something else";
  double left = 0, right = 0, size = 0;
  const auto add = [&](const Array& a, const Array& b, double& sum) {
    if (!is_float(a.dtype())) return;
    const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
    for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i], size += std::abs(x[i] * y[i]);
  };
  for (size_t i = 0; i < forward.size(); ++i) add(forward[i], cotangents[i], left);
  for (size_t i = 0; i < back.size(); ++i) add(back[i], tangents[i], right);
  constexpr double kRounding = 1e-5;  // of vectors of ones and more: terms whose sum is 0 leave no more
  if (!(size < 1e30) || size < kRounding || std::abs(left - right) <= 1e-2 * size) return {};
  return fmt::format("<c, J t> = {:.9g}, <J' c, t> = {:.9g}, of terms that add up to {:.9g}", left, right, size);
}

template <class Make>
void check_transformed(uint64_t seed, const Make& make) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::string said;
  try {
    Transformer made = make();
    made.transform();
    said = made.said;
    const std::string wrong = wrong_with(made.graph, made.inputs, seed);
    if (wrong.empty()) {
      const bool has_way_back = said.find("while_loop") == std::string::npos;
      if (seed % 4 == 3 && has_way_back) EXPECT_EQ(unequal_products(made.graph, made.inputs, seed), "") << said;
      return;
    }
    const auto fails = [&](const Graph& g, const Arrays& in) { return !wrong_with(g, in, seed).empty(); };
    const auto [graph, inputs] = shrunk(made.graph, made.inputs, fails);
    ADD_FAILURE() << said << ": " << wrong << "\nshrunk: " << wrong_with(graph, inputs, seed) << "\n"
                  << tracing::print(graph);
  } catch (const std::exception& e) {
    ADD_FAILURE() << said << ": " << e.what();
  }
}

inline void check_transformed(uint64_t seed) {
  check_transformed(seed, [seed] { return Transformer(seed); });
}

/// Any function of the library, also those that are made of many ops.
inline void check_library(uint64_t seed) {
  const SmoothProgram f(seed);
  SCOPED_TRACE(f.said());
  check_transformed(seed, [&] {
    const Array x = array(f.point);
    const auto program = [&](const Arrays& in) { return Arrays{f(in[0])}; };
    return Transformer(seed, tracing::trace_closed(std::vector{x.aval()}, program), {x}, 200);
  });
}

}  // namespace neap::conformance
