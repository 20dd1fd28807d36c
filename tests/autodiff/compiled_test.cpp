// Derivatives, compiled, against the reference interpreter: the graphs that the transforms make reach every backend.
#include <gtest/gtest.h>

#include "tests/autodiff/check.h"
#include "trace/tracing/eager.h"
#include "trace/vmap/vmap.h"

namespace neap::autodiff {
namespace {

void expect_as_reference(const Graph& g, const Values& inputs) {
  tracing::Arrays arrays;
  for (const HostValue& value : inputs) arrays.push_back(detail::make_concrete(value.aval, value.data));
  const Values expected = tracing::evaluate_reference(g, inputs);
  const tracing::Arrays got = tracing::eager().run(g, arrays);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].aval(), expected[k].aval);
    const std::vector<double> a = got[k].to_vector<double>();
    const std::vector<double> b = detail::make_concrete(expected[k].aval, expected[k].data).to_vector<double>();
    const double tolerance = expected[k].aval.dtype == f32 ? 1e-5 : 1e-9;
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "output " << k << " element " << i << "\n"
                                                                << print(g);
    }
  }
}

class Compiled : public ::testing::TestWithParam<Case> {};

TEST_P(Compiled, ForwardReverseAndMapped) {
  const Case& c = GetParam();
  const Graph g = c.graph();
  std::mt19937_64 rng(3);
  const Values inputs = random_values(c.inputs, rng, c);
  const Values t = directions(inputs, rng), ct = directions(tracing::evaluate_reference(g, inputs), rng);
  expect_as_reference(jvp(g, floating(c.inputs)), joined(inputs, t));
  const Graph reverse = vjp(g, floating(c.inputs));
  expect_as_reference(reverse, joined(inputs, ct));
  const Graph mapped = tracing::vmap(reverse, std::vector<std::optional<int64_t>>(reverse.inputs.size(), 0), 3,
                                     std::vector<int64_t>(reverse.outputs.size(), 0));
  expect_as_reference(mapped, random_values(mapped.avals(mapped.inputs), rng, c));
}

// Elementwise rows are compared by tests/conformance.
std::vector<Case> cases() {
  std::vector<Case> all = tracing::structural_cases();
  for (Case& c : tracing::scan_cases()) all.push_back(std::move(c));
  for (Case& c : tracing::branch_cases()) all.push_back(std::move(c));
  for (Case& c : tracing::linalg_cases()) all.push_back(std::move(c));
  for (Case& c : tracing::special_cases()) all.push_back(std::move(c));
  for (Case& c : tracing::more_cases()) all.push_back(std::move(c));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cases, Compiled, ::testing::ValuesIn(cases()), tracing::case_name);

class CompiledWhile : public ::testing::TestWithParam<Case> {};

TEST_P(CompiledWhile, ForwardAndMapped) {
  const Case& c = GetParam();
  std::mt19937_64 rng(3);
  const Graph forward = jvp(c.graph(), floating(c.inputs));
  expect_as_reference(forward, random_values(forward.avals(forward.inputs), rng, c));
  const Graph mapped = tracing::vmap(forward, std::vector<std::optional<int64_t>>(forward.inputs.size(), 0), 3,
                                     std::vector<int64_t>(forward.outputs.size(), 0));
  expect_as_reference(mapped, random_values(mapped.avals(mapped.inputs), rng, c));
}

INSTANTIATE_TEST_SUITE_P(Cases, CompiledWhile, ::testing::ValuesIn(tracing::while_cases()), tracing::case_name);

}  // namespace
}  // namespace neap::autodiff
