// A program is made ready for its searches once: complex numbers taken apart, simplified as each asks.
#include "planner/search/program.h"

#include <gtest/gtest.h>

#include <neap/neap.h>

#include "graphs.h"
#include "planner/rewrite/simplify.h"
#include "tests/count.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {
namespace {

using tracing::Arrays;

Graph traced(DType dtype, Array (*f)(const Array&)) {
  return tracing::trace_closed(std::vector<Aval>{{{64}, dtype}}, [&](const Arrays& in) { return Arrays{f(in[0])}; });
}

TEST(Program, OfRealNumbersIsTheGraphAsItWasGiven) {
  const Graph graph = traced(DType::f32, [](const Array& x) { return exp(x) + 0.f * exp(x); });
  const Program program(graph);
  EXPECT_EQ(program.graph(), graph);
  EXPECT_EQ(program.simple(), simplify(graph));
  EXPECT_EQ(&program.simple(), &program.simple()) << "simplified once";
  EXPECT_EQ(program.light(), simplify(graph, Builder::Level::light));
  EXPECT_EQ(count(program.light(), Op::exp), 2);
  EXPECT_EQ(count(program.simple(), Op::exp), 1);
}

TEST(Program, OfComplexNumbersHasPairsOfRealOnes) {
  const Program program(traced(DType::c64, [](const Array& x) { return x * x; }), Target{});
  EXPECT_EQ(program.graph().aval(program.graph().inputs[0]), (Aval{{64, 2}, DType::f32}));
  for (const tracing::Value& value : program.graph().values) EXPECT_FALSE(is_complex(value.aval.dtype));
}

TEST(Program, DrawsWithAsManyKeysAsAreAskedFor) {
  const Program program(traced(DType::u32, [](const Array& x) { return random::bits(x[slice(0, 2)], {64}); }));
  EXPECT_EQ(count(program.simple(), Op::random_fold_in), 0);
  EXPECT_EQ(count(program.with_subkeys(8), Op::random_fold_in), 1);
  EXPECT_EQ(count(program.with_subkeys(65), Op::random_fold_in), 0) << "more than there are elements";
}

}  // namespace
}  // namespace neap::planner
