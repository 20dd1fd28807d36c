// Graphs as text: every op reads back as the same graph, numbers to the bit; what cannot be read is explained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/message.h"
#include "tests/trace/samples.h"

namespace neap::tracing {
namespace {

using testing::HasSubstr;

TEST(Print, EveryOpRoundTrips) {
  for (const OpInfo& row : op_table()) {
    const Graph graph = sample_graph(row.op, row.family == Family::elementwise ? sample_dtype(row.op) : f32);
    const std::string text = print(graph);
    const Graph back = parse(text);
    EXPECT_EQ(back, graph) << text;
    EXPECT_EQ(back.hash(), graph.hash()) << text;
    EXPECT_EQ(back.name, graph.name);
    EXPECT_NO_THROW(verify(back)) << text;
  }
}

TEST(Print, IsWhatThePagePromises) {
  Graph graph;
  graph.name = "loss";
  graph.num_captured = 1;
  const ValueId x = graph.add_input({{3}, f32});
  const ValueId w = graph.add_input({{3}, f32});
  const ValueId product = graph.add(Op::multiply, {x, w}, {}, {});
  const ValueId sum = graph.add(Op::reduce_sum, {product}, {{Attr::axes, Ints{0}}}, {});
  graph.outputs = {sum, x};
  EXPECT_EQ(print(graph),
            "graph \"loss\" captured=1 (%0: f32[3], %1: f32[3]) {\n"
            "  %2: f32[3] = multiply %0 %1\n"
            "  %3: f32[] = reduce_sum %2 {axes=[0]}\n"
            "  return %3, %0\n"
            "}\n");
}

TEST(Print, NumbersComeBackExactly) {
  for (const double value : {0.1, -0.0, 1.0, 1e300, 5e-324, 1.0 / 3, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), std::nan(""), -std::nan("7")}) {
    Graph graph;
    graph.outputs = {graph.constant(value, f64)};
    const Graph back = parse(print(graph));
    EXPECT_EQ(std::bit_cast<uint64_t>(back.nodes[0].attrs.real(Attr::value)), std::bit_cast<uint64_t>(value))
        << print(graph);
    EXPECT_EQ(back, graph);
  }
  Graph graph;
  graph.outputs = {graph.add(Op::constant, {},
                             {{Attr::value, std::numeric_limits<int64_t>::min()},
                              {Attr::dtype, i64},
                              {Attr::shape, Ints{}},
                              {Attr::saveable, std::string("a \"b\"\\ // no comment\nnew line")}})};
  EXPECT_EQ(parse(print(graph)), graph);
}

TEST(Print, LocationsAreComments) {
  const Graph graph = sample_graph(Op::exp);
  EXPECT_THAT(print(graph), HasSubstr("// samples.h:"));
  EXPECT_EQ(parse(print(graph)), graph);
}

TEST(Print, EmptyGraphRoundTrips) { EXPECT_EQ(parse(print(Graph{})), Graph{}); }

TEST(Parse, ExplainsWhatItCannotRead) {
  const auto message = [](std::string_view text) -> std::string {
    try {
      parse(text);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message("graph (%0: f32[2]) {\n  %1: f32[2] = expp %0\n return %1 }"),
              HasSubstr("no op 'expp' in line 2"));
  EXPECT_THAT(message("graph (%0: f32[2]) { %1: f32[3] = exp %0 return %1 }"), HasSubstr("exp gives f32[2]"));
  EXPECT_THAT(message("graph (%0: f99[2]) { return }"), HasSubstr("'f99' is no dtype"));
  EXPECT_THAT(message("graph () { return %3 }"), HasSubstr("%3 is not defined"));
  EXPECT_THAT(message("graph (%0: f32[2], %0: f32[2]) { return }"), HasSubstr("defined twice"));
  EXPECT_THAT(message("graph () { return } more"), HasSubstr("text after the graph"));
  EXPECT_THAT(message("graph () { return"), HasSubstr("'}' expected"));
  EXPECT_THAT(message("graph (%0: f32[2]) { %1: f32[] = reduce_sum %0 {axis=[0]} return %1 }"),
              HasSubstr("attribute axes is missing"));
}

TEST(Print, RefusesGraphsWithinGraphsWithoutEnd) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "graph () { = scan {body=";
    return text;
  };
  for (const int depth : {65, 30'000}) {
    EXPECT_THAT(message_of<UserError>([&] { parse(nested(depth)); }), HasSubstr("a graph within 64 others"));
  }
  EXPECT_THAT(message_of<UserError>([&] { parse(nested(64)); }), testing::Not(HasSubstr("within")));
}

}  // namespace
}  // namespace neap::tracing
