// First and second derivatives of every case, in both modes.
#include <gtest/gtest.h>

#include "tests/autodiff/check.h"
#include "trace/vmap/vmap.h"

namespace neap::autodiff {
namespace {

// Cases with derivatives in f64. stop_gradient's is zero by decree; convert is tested with the transforms.
std::vector<Case> differentiable_cases() {
  std::vector<Case> cases = tracing::all_cases();
  std::erase_if(cases, [](const Case& c) {
    return c.name == "stop_gradient" || c.name == "convert" ||
           std::ranges::none_of(c.inputs, [](const Aval& a) { return is_float(a.dtype); });
  });
  return cases;
}

class Derivatives : public ::testing::TestWithParam<Case> {
 protected:
  std::mt19937_64 rng{5};
};

TEST_P(Derivatives, First) {
  const Case& c = GetParam();
  const Graph g = c.graph();
  for (int trial = 0; trial < 3; ++trial) {
    const Values inputs = random_values(c.inputs, rng, c);
    check_jvp(g, inputs, rng);
    check_vjp(g, inputs, rng);
  }
}

TEST_P(Derivatives, Second) {
  const Case& c = GetParam();
  const Graph g = c.graph();
  const std::vector<bool> active = floating(c.inputs);
  const Values inputs = random_values(c.inputs, rng, c);
  const Values with_tangents = joined(inputs, directions(inputs, rng));
  const Graph forward = jvp(g, active);
  check_jvp(forward, with_tangents, rng, 1e-5);
  check_vjp(forward, with_tangents, rng);
  const Values out = tracing::evaluate_reference(g, inputs);
  const Values with_cotangents = joined(inputs, directions(out, rng));
  const Graph reverse = vjp(g, active);
  check_jvp(reverse, with_cotangents, rng, 1e-5);
  check_vjp(reverse, with_cotangents, rng);
}

// A derivative of a mapped function, and a mapped derivative, are graphs like any other.
TEST_P(Derivatives, OfVmap) {
  const Case& c = GetParam();
  const Graph g = c.graph();
  const std::vector<int64_t> first(g.outputs.size(), 0);
  const Graph mapped = tracing::vmap(g, std::vector<std::optional<int64_t>>(c.inputs.size(), 0), 2, first);
  const Values inputs = random_values(mapped.avals(mapped.inputs), rng, c);
  check_jvp(mapped, inputs, rng);
  check_vjp(mapped, inputs, rng);
  const Graph reverse = vjp(g, floating(c.inputs));
  const Graph mapped_reverse = tracing::vmap(reverse, std::vector<std::optional<int64_t>>(reverse.inputs.size(), 0), 2,
                                             std::vector<int64_t>(reverse.outputs.size(), 0));
  const Values ct = directions(tracing::evaluate_reference(mapped, inputs), rng);
  const Values a = tracing::evaluate_reference(mapped_reverse, joined(inputs, ct));
  const Values b = tracing::evaluate_reference(vjp(mapped, floating(mapped.avals(mapped.inputs))), joined(inputs, ct));
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = g.outputs.size(); k < a.size(); ++k) {
    ASSERT_EQ(a[k].aval, b[k].aval);
    for (int64_t i = 0; i < a[k].aval.size(); ++i)
      ASSERT_NEAR(a[k].data->as<double>()[i], b[k].data->as<double>()[i],
                  1e-9 * (1 + std::abs(a[k].data->as<double>()[i])));
  }
}

// Only some inputs active: the others' tangents are absent, not zeros.
TEST_P(Derivatives, OfOneInput) {
  const Case& c = GetParam();
  const Graph g = c.graph();
  const Values inputs = random_values(c.inputs, rng, c);
  const std::vector<bool> all = floating(c.inputs);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    std::vector<bool> active(all.size(), false);
    active[i] = true;
    const Values direction = directions({inputs[i]}, rng);
    const Values out = tracing::evaluate_reference(g, inputs);
    const Values ct = directions(out, rng);
    const Values forward = tracing::evaluate_reference(jvp(g, active), joined(inputs, direction));
    const Values backward = tracing::evaluate_reference(vjp(g, active), joined(inputs, ct));
    const auto n = static_cast<std::ptrdiff_t>(out.size());
    double magnitude = 1;
    const double a = dot(ct, Values(forward.begin() + n, forward.end()), &magnitude);
    const double b = dot(Values(backward.begin() + n, backward.end()), direction, &magnitude);
    ASSERT_NEAR(a, b, 1e-11 * magnitude) << "input " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Derivatives, ::testing::ValuesIn(differentiable_cases()), tracing::case_name);

}  // namespace
}  // namespace neap::autodiff
