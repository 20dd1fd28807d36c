// What differentiation leaves in the graph, which is what the planner is given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autodiff/check.h"
#include "tests/count.h"

namespace neap::autodiff {
namespace {

using tracing::Arrays;
using tracing::Attr;
using tracing::IndexMode;
using tracing::Node;
using tracing::Op;

// Indices are read as they lie, in their own dtype, and the table is not.
TEST(Structure, GradientOfAGatherIsOneScatter) {
  const std::vector<Aval> avals{{{128, 128, 128}, f32}, {{1 << 20, 3}, i16}};
  const Graph g =
      tracing::trace_closed(avals, [](const Arrays& in) { return Arrays{sum(gather(in[0], in[1]) * 2.5f)}; });
  const Graph d = grad(g, {0}, false);
  ASSERT_EQ(count(d, Op::scatter_add), 1);
  EXPECT_EQ(count(d, Op::gather), 0);
  EXPECT_EQ(count(d, Op::convert), 0);
  const Node& scatter = *std::ranges::find(d.nodes, Op::scatter_add, &Node::op);
  EXPECT_EQ(scatter.inputs[1], d.inputs[1]);
  EXPECT_EQ(scatter.attrs.integer(Attr::mode), static_cast<int64_t>(IndexMode::clamp_update));
}

TEST(Structure, ZerosAreNotMaterialised) {
  const std::vector<Aval> avals{{{4}, f32}, {{4}, f32}};
  const Graph g = tracing::trace_closed(avals, [](const Arrays& in) { return Arrays{in[0] * in[1], exp(in[1])}; });
  const ActiveJvp both = jvp_active(g, {true, false});
  EXPECT_THAT(both.active, ::testing::ElementsAre(true, false));
  EXPECT_EQ(count(both.graph, Op::multiply), 2);
  EXPECT_EQ(count(both.graph, Op::constant), 0);
}

const Node& scan_of(const Graph& g, bool reverse) {
  const auto is = [&](const Node& n) { return n.op == Op::scan && (n.attrs.integer(Attr::reverse) != 0) == reverse; };
  const auto found = std::ranges::find_if(g.nodes, is);
  NEAP_CHECK(found != g.nodes.end());
  return *found;
}

// A step stacks its carry, not the values in between, and draws its random numbers again from the key.
TEST(Structure, ScanStacksItsCarryOnly) {
  const std::vector<Aval> avals{{{64}, f32}, {{2}, u32}};
  const Graph g = tracing::trace_closed(avals, [](const Arrays& in) {
    const Array keys = random::split(in[1], 100);
    return Arrays{sum(scan(
                          [](const Array& c, const Array& key) {
                            const Array noise = random::normal(key, {64});
                            return std::pair{sin(exp(c * noise) + tanh(c)), nullptr};
                          },
                          in[0], keys)
                          .first)};
  });
  const Graph d = grad(g, {0}, false);
  const Node& forward = scan_of(d, false);
  std::vector<std::string> stacked;
  for (size_t i = 1; i < forward.outputs.size(); ++i) stacked.push_back(to_string(d.aval(forward.outputs[i])));
  EXPECT_THAT(stacked, ::testing::ElementsAre("f32[100,64]"));
  const Node& backward = scan_of(d, true);
  EXPECT_EQ(count(*backward.attrs.graph(Attr::body), Op::random_bits), 1);
}

// A loop that is linear in its carry keeps nothing.
TEST(Structure, LinearScanStacksNothing) {
  const std::vector<Aval> avals{{{64}, f32}, {{100, 64}, f32}};
  const Graph g = tracing::trace_closed(avals, [](const Arrays& in) {
    return Arrays{
        sum(scan([](const Array& c, const Array& x) { return std::pair{c * x, nullptr}; }, in[0], in[1]).first)};
  });
  EXPECT_EQ(count(grad(g, {0}, false), Op::scan), 1);
}

}  // namespace
}  // namespace neap::autodiff
