// Derivatives through loops whose length depends on data, and what the way back through branches keeps.
#include <neap/neap.h>

#include <gmock/gmock.h>

#include "autodiff/linear.h"
#include "tests/autodiff/check.h"
#include "trace/vmap/vmap.h"

namespace neap::autodiff {
namespace {

using tracing::Node;
using tracing::Op;

class WhileDerivatives : public ::testing::TestWithParam<Case> {
 protected:
  std::mt19937_64 rng{5};
};

TEST_P(WhileDerivatives, Forward) {
  const Case& c = GetParam();
  const Graph g = c.graph();
  for (int trial = 0; trial < 3; ++trial) check_jvp(g, random_values(c.inputs, rng, c), rng);
  const Graph forward = jvp(g, floating(c.inputs));
  check_jvp(forward, random_values(forward.avals(forward.inputs), rng, c), rng, 1e-5);
  const Graph mapped = tracing::vmap(g, std::vector<std::optional<int64_t>>(c.inputs.size(), 0), 3,
                                     std::vector<int64_t>(g.outputs.size(), 0));
  check_jvp(mapped, random_values(mapped.avals(mapped.inputs), rng, c), rng);
}

// The linear part computes the values again, and gives the tangents that jvp gives.
TEST_P(WhileDerivatives, Linearized) {
  const Case& c = GetParam();
  const Graph g = c.graph();
  const std::vector<bool> active = floating(c.inputs);
  const Linearized parts = linearize(g, active);
  tracing::verify(parts.primal);
  tracing::verify(parts.tangent);
  const Values inputs = random_values(c.inputs, rng, c), t = directions(inputs, rng);
  const Values primal = tracing::evaluate_reference(parts.primal, inputs);
  const auto n = static_cast<std::ptrdiff_t>(g.outputs.size());
  const Values tangents =
      tracing::evaluate_reference(parts.tangent, joined(Values(primal.begin() + n, primal.end()), t));
  const Values both = tracing::evaluate_reference(jvp_active(g, active).graph, joined(inputs, t));
  ASSERT_EQ(tangents.size() + static_cast<size_t>(n), both.size());
  for (size_t k = 0; k < tangents.size(); ++k)
    EXPECT_EQ(tracing::elements_of<double>(tangents[k]),
              tracing::elements_of<double>(both[static_cast<size_t>(n) + k]));
}

INSTANTIATE_TEST_SUITE_P(Cases, WhileDerivatives, ::testing::ValuesIn(tracing::while_cases()), tracing::case_name);

// Both branches' residuals share the same results of the first cond: as many as one branch needs.
TEST(Cond, ResidualsShareSlots) {
  const Aval m{{4, 4}, f64};
  const std::vector<Aval> avals{{{}, bool_}, m, m};
  const Graph g = tracing::trace_closed(avals, [](const tracing::Arrays& in) {
    return tracing::Arrays{cond(
        in[0], [](const Array& a, const Array& b) { return sin(matmul(a, b)); },
        [](const Array& a, const Array& b) { return cos(matmul(b, a)); }, in[1], in[2])};
  });
  const Linearized parts = linearize(g, {false, true, true});
  const auto node = std::ranges::find(parts.primal.nodes, Op::cond, &Node::op);
  ASSERT_NE(node, parts.primal.nodes.end());
  EXPECT_EQ(node->outputs.size(), 2u) << print(parts.primal);  // the result and one product
}

}  // namespace
}  // namespace neap::autodiff

namespace neap {
namespace {

using testing::HasSubstr;

Array halved_until_small(const Array& x) {
  return while_loop([](const Array& c) { return sum(c) > 1; }, [](const Array& c) { return c * 0.5f; }, x);
}

TEST(WhileReverse, IsRefused) {
  const auto f = [](const Array& x) { return sum(halved_until_small(x)); };
  try {
    grad(f)(array({1.0f, 2.0f}));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("while_loop: a reverse-mode derivative through a loop"));
    EXPECT_THAT(error.what(), HasSubstr("use scan or fori_loop with integer bounds"));
    EXPECT_THAT(error.what(), HasSubstr("control_test.cpp:"));
  }
}

TEST(WhileReverse, PassesWhatHasNoTangent) {
  const auto f = [](const Array& x) { return sum(x * stop_gradient(halved_until_small(x))); };
  EXPECT_EQ(grad(f)(array({1.0f, 2.0f})).to_vector<float>(), (std::vector<float>{0.25f, 0.5f}));
}

TEST(WhileReverse, HasForwardHessian) {
  const auto cube = [](const Array& x) {  // x^3 by a loop
    return while_loop([](const auto& s) { return s.first < 3; },
                      [&](const auto& s) { return std::pair{s.first + 1, s.second * x}; },
                      std::pair{array(0), array(1.0f)})
        .second;
  };
  EXPECT_EQ(jacfwd(cube)(array(2.0f)).item<float>(), 12);
  EXPECT_EQ(jacfwd(jacfwd(cube))(array(2.0f)).item<float>(), 12);
  const auto [y, tangent] = linearize(cube, array(2.0f));
  EXPECT_EQ(y.item<float>(), 8);
  EXPECT_EQ(tangent(array(2.0f)).item<float>(), 24);
}

const auto chosen = [](const Array& x) {
  return cond(sum(x) > 0, [](const Array& y) { return sum(y * y * y); }, [](const Array& y) { return sum(sin(y)); }, x);
};

TEST(Cond, GradAndHessian) {
  const Array positive = array({1.0f, 2.0f}), negative = array({-1.0f, -2.0f});
  EXPECT_EQ(grad(chosen)(positive).to_vector<float>(), (std::vector<float>{3, 12}));
  EXPECT_EQ(grad(chosen)(negative).to_vector<float>(), cos(negative).to_vector<float>());
  EXPECT_EQ(hessian(chosen)(positive).to_vector<float>(), (std::vector<float>{6, 0, 0, 12}));
  EXPECT_EQ(jacrev(grad(chosen))(positive).to_vector<float>(), (std::vector<float>{6, 0, 0, 12}));
  EXPECT_EQ(jit(vmap(grad(chosen)))(stack({positive, negative})).to_vector<float>(),
            stack({grad(chosen)(positive), grad(chosen)(negative)}).to_vector<float>());
}

TEST(Cond, InsideCheckpointAndCustomRules) {
  const auto kept = [](const Array& x) { return sum(checkpoint([](const Array& y) { return chosen(y * 2) * y; })(x)); };
  const auto plain = [](const Array& x) { return sum(chosen(x * 2) * x); };
  const Array x = array({0.5f, 1.5f});
  EXPECT_EQ(grad(kept)(x).to_vector<float>(), grad(plain)(x).to_vector<float>());
  const auto f = custom_jvp([](const Array& y) { return y * 1; },
                            [](const Array& y, const Array& t) { return t * chosen(y) * 10; });
  const auto inside = [&](const Array& y) { return cond(y > 0, f, [](const Array& z) { return z; }, y); };
  EXPECT_EQ(grad(inside)(array(2.0f)).item<float>(), 80);
  EXPECT_EQ(grad(inside)(array(-2.0f)).item<float>(), 1);
}

}  // namespace
}  // namespace neap
