// Graphs and their attributes: what is equal, what uses what, and what dead code is.
#include "trace/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trace/samples.h"

namespace neap::tracing {
namespace {

using testing::ElementsAre;

TEST(Attrs, KeepsOneValueForEachKey) {
  Attrs attrs{{Attr::shape, Ints{2, 3}}, {Attr::axis, 1}};
  attrs.set(Attr::axis, 2);
  EXPECT_EQ(attrs.integer(Attr::axis), 2);
  EXPECT_EQ(attrs.integer_or(Attr::mode, 7), 7);
  EXPECT_THAT(attrs.ints(Attr::shape), ElementsAre(2, 3));
  EXPECT_EQ(attrs.items().size(), 2u);
  EXPECT_TRUE(attrs.items()[0].first < attrs.items()[1].first);
  EXPECT_THROW(attrs.integer(Attr::length), InternalError);
  EXPECT_THROW(attrs.integer(Attr::shape), InternalError);
  attrs.set(Attr::value, 3);
  EXPECT_EQ(attrs.real(Attr::value), 3.0);
}

TEST(Attrs, ComparesDoublesByBitsAndGraphsByStructure) {
  const double nan = std::nan("");
  EXPECT_EQ((Attrs{{Attr::value, nan}}), (Attrs{{Attr::value, nan}}));
  EXPECT_FALSE((Attrs{{Attr::value, 0.0}}) == (Attrs{{Attr::value, -0.0}}));
  EXPECT_FALSE((Attrs{{Attr::value, 1.0}}) == (Attrs{{Attr::value, 1}}));
  const Attrs a{{Attr::body, std::make_shared<const Graph>(sample_graph(Op::exp))}};
  const Attrs b{{Attr::body, std::make_shared<const Graph>(sample_graph(Op::exp))}};
  const Attrs c{{Attr::body, std::make_shared<const Graph>(sample_graph(Op::log))}};
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_FALSE(a == c);
}

TEST(Graph, EqualityIsStructure) {
  Graph a;
  const ValueId x = a.add_input({{2}, f32});
  const ValueId y = a.add_input({{2}, f32});
  a.outputs = {a.add(Op::subtract, {x, y})};
  Graph b = a;
  b.name = "another name";
  b.nodes[0].loc = {};
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  b.nodes[0].inputs = {y, x};
  EXPECT_FALSE(a == b);
  EXPECT_NE(a.hash(), b.hash());
  b = a;
  b.num_captured = 1;
  EXPECT_FALSE(a == b);
  b = a;
  b.outputs = {x};
  EXPECT_FALSE(a == b);
  EXPECT_EQ(scan_sample(), scan_sample());
  EXPECT_EQ(scan_sample().hash(), scan_sample().hash());
}

TEST(Graph, EqualityIgnoresTheNumbersOfValues) {
  Graph a;
  const ValueId x = a.add_input({{2}, f32});
  a.add(Op::exp, {x});
  a.outputs = {a.add(Op::sin, {x})};
  Graph b;
  const ValueId z = b.add_input({{2}, f32});
  b.outputs = {b.add(Op::sin, {z})};
  EXPECT_FALSE(a == b);
  a.nodes.erase(a.nodes.begin());  // leaves a value that nothing defines
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
}

TEST(Graph, ConstantsOfIntegersHaveOneForm) {
  Graph graph;
  const ValueId three = graph.constant(3, i32, {2});
  EXPECT_EQ(graph.aval(three), (Aval{{2}, i32}));
  EXPECT_TRUE(std::holds_alternative<int64_t>(*graph.def(three)->attrs.find(Attr::value)));
  const ValueId real = graph.constant(3, f32);
  EXPECT_TRUE(std::holds_alternative<double>(*graph.def(real)->attrs.find(Attr::value)));
}

TEST(Graph, CountsUsesAndConsumers) {
  Graph graph;
  const ValueId x = graph.add_input({{2}, f32});
  const ValueId unused = graph.add_input({{2}, f32});
  const ValueId square = graph.add(Op::multiply, {x, x});
  const ValueId sum = graph.add(Op::add, {square, x});
  graph.outputs = {sum, sum};
  EXPECT_THAT(count_uses(graph), ElementsAre(3, 0, 1, 2));
  const auto users = consumers(graph);
  EXPECT_THAT(users[x], ElementsAre(0, 1));
  EXPECT_THAT(users[unused], ElementsAre());
  EXPECT_THAT(users[square], ElementsAre(1));
  EXPECT_THAT(users[sum], ElementsAre());
  EXPECT_TRUE(graph.is(square, Op::multiply));
  EXPECT_EQ(graph.def(x), nullptr);
}

TEST(Graph, DeadCodeGoesAndInputsStay) {
  Graph graph;
  const ValueId x = graph.add_input({{2}, f32});
  graph.add_input({{2}, f32});
  graph.num_captured = 1;
  const ValueId dead = graph.add(Op::exp, {x});
  graph.add(Op::sin, {dead});
  graph.outputs = {graph.add(Op::cos, {x})};
  const Graph lean = eliminate_dead_code(graph);
  verify(lean);
  ASSERT_EQ(lean.nodes.size(), 1u);
  EXPECT_EQ(lean.nodes[0].op, Op::cos);
  EXPECT_EQ(lean.inputs.size(), 2u);
  EXPECT_EQ(lean.num_captured, 1);
  EXPECT_EQ(lean.values.size(), 3u);
}

TEST(Graph, DeadCodeGoesFromBodies) {
  Graph graph = scan_sample();
  auto body = std::make_shared<Graph>(*graph.nodes[0].attrs.graph(Attr::body));
  body->add(Op::exp, {body->inputs[0]});
  graph.nodes[0].attrs.set(Attr::body, GraphPtr(body));
  EXPECT_FALSE(graph == scan_sample());
  EXPECT_EQ(eliminate_dead_code(graph), scan_sample());
}

}  // namespace
}  // namespace neap::tracing
