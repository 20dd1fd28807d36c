// The verifier accepts every sample, and finds what is wrong with a broken graph, in bodies too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/samples.h"

namespace neap::tracing {
namespace {

using testing::HasSubstr;

std::string complaint(const Graph& graph) {
  try {
    verify(graph);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "none";
}

// exp(x) + x, of f32[2].
Graph valid() {
  Graph graph;
  const ValueId x = graph.add_input({{2}, f32});
  const ValueId e = graph.add(Op::exp, {x});
  graph.outputs = {graph.add(Op::add, {e, x})};
  return graph;
}

TEST(Verify, AcceptsEverySample) {
  EXPECT_EQ(complaint(valid()), "none");
  EXPECT_EQ(complaint(Graph{}), "none");
  for (const OpInfo& row : op_table()) {
    EXPECT_EQ(complaint(sample_graph(row.op, row.family == Family::elementwise ? sample_dtype(row.op) : f32)), "none");
  }
}

TEST(Verify, FindsUsesBeforeDefinitions) {
  Graph graph = valid();
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_THAT(complaint(graph), HasSubstr("before its definition"));
  graph = valid();
  graph.nodes[0].inputs[0] = 99;
  EXPECT_THAT(complaint(graph), HasSubstr("value 99 of 3"));
  graph = valid();
  graph.nodes[0].inputs[0] = graph.nodes[0].out();
  EXPECT_THAT(complaint(graph), HasSubstr("before its definition"));
  graph = valid();
  graph.outputs = {no_value};
  EXPECT_THAT(complaint(graph), HasSubstr("value -1"));
}

TEST(Verify, FindsWrongDefinitions) {
  Graph graph = valid();
  graph.values[1].def = 1;
  EXPECT_THAT(complaint(graph), HasSubstr("says that it is output 0 of node 1"));
  graph = valid();
  graph.inputs.push_back(graph.inputs[0]);
  EXPECT_THAT(complaint(graph), HasSubstr("defined twice"));
  graph = valid();
  graph.nodes[1].outputs.push_back(graph.add_input({{2}, f32}));
  graph.inputs.pop_back();
  EXPECT_NE(complaint(graph), "none");
  graph = valid();
  graph.num_captured = 2;
  EXPECT_THAT(complaint(graph), HasSubstr("2 captured of 1 inputs"));
}

TEST(Verify, FindsWrongAvalsArityAndAttributes) {
  Graph graph = valid();
  graph.values[1].aval.dtype = f64;
  EXPECT_THAT(complaint(graph), HasSubstr("node 0 (exp) gives f32[2], but its output 0 is f64[2]"));
  graph = valid();
  graph.nodes[1].inputs.pop_back();
  EXPECT_THAT(complaint(graph), HasSubstr("add: 1 operands, not 2"));
  graph = sample_graph(Op::reduce_sum);
  graph.nodes[0].attrs = {};
  EXPECT_THAT(complaint(graph), HasSubstr("attribute axes is missing"));
  graph.nodes[0].attrs = {{Attr::axes, 0}};
  EXPECT_THAT(complaint(graph), HasSubstr("attribute axes is of the wrong kind"));
}

TEST(Verify, LooksIntoBodies) {
  Graph graph = scan_sample();
  auto body = std::make_shared<Graph>(*graph.nodes[0].attrs.graph(Attr::body));
  std::swap(body->nodes[0], body->nodes[1]);
  graph.nodes[0].attrs.set(Attr::body, GraphPtr(body));
  EXPECT_THAT(complaint(graph), HasSubstr("before its definition"));

  graph = scan_sample();
  body = std::make_shared<Graph>(*graph.nodes[0].attrs.graph(Attr::body));
  body->outputs.pop_back();
  graph.nodes[0].attrs.set(Attr::body, GraphPtr(body));
  EXPECT_THAT(complaint(graph), HasSubstr("has 2 outputs, not 1"));
}

}  // namespace
}  // namespace neap::tracing
