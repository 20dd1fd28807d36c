// neap::trace: the graph of a function as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <sstream>

namespace neap {
namespace {

using testing::HasSubstr;

TEST(Trace, SaysWhatAFunctionIsMadeOf) {
  const auto f = [](const Array& x) { return sum(sin(x) * 2.0f); };
  const TracedGraph graph = trace(f, spec({3, 4}, f32));  // spec: nothing is allocated
  EXPECT_EQ(graph.operations(), 5u) << graph;             // sin, 2, spread out, product, sum
  EXPECT_THAT(graph.text(), HasSubstr("f32[3,4] = sin %0"));
  EXPECT_THAT(graph.text(), HasSubstr("trace_test.cpp:"));
  std::ostringstream out;
  out << graph;
  EXPECT_EQ(out.str(), graph.text());
  EXPECT_THAT(trace(grad(f), ones({2})).text(), HasSubstr("cos"));
}

TEST(Trace, TakesTreesAndLoops) {
  struct State {
    Array x, y;
  };
  const auto f = [](const State& s) {
    return fori_loop(0, 3, [&](const Array&, const Array& x) { return x * s.y; }, s.x);
  };
  EXPECT_THAT(trace(f, State{spec({2}, f32), spec({2}, f32)}).text(), HasSubstr("scan"));
  EXPECT_THROW(trace([](const Array& x) { return matmul(x, x); }, spec({2, 3}, f32)), ShapeError);
}

}  // namespace
}  // namespace neap
