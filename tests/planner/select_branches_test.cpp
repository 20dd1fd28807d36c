// Branches of a few ops on a few numbers, in loops: both are computed, one is selected.
#include "planner/rewrite/select_branches.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/rewrite/simplify.h"
#include "tests/count.h"

namespace neap::planner {
namespace {

using tracing::GraphPtr;

// x -> what `op` makes of it, `times` times.
GraphPtr branch(Op op, const Aval& aval, int times = 1) {
  Graph g;
  ValueId v = g.add_input(aval);
  for (int i = 0; i < times; ++i) v = g.add(op, {v});
  g.outputs = {v};
  return std::make_shared<const Graph>(std::move(g));
}

// The one branch of x or the other.
ValueId cond(Graph& g, ValueId predicate, ValueId x, const GraphPtr& then, const GraphPtr& otherwise) {
  const auto id = g.add_node(Op::cond, {predicate, x}, {{Attr::body, then}, {Attr::otherwise, otherwise}}, {});
  return g.nodes[id].outputs[0];
}

// (predicate, x) -> that.
Graph cond(const Aval& aval, const GraphPtr& then, const GraphPtr& otherwise) {
  Graph g;
  const ValueId predicate = g.add_input({{}, DType::bool_}), x = g.add_input(aval);
  g.outputs = {cond(g, predicate, x, then, otherwise)};
  return g;
}

TEST(SelectBranches, OfAFewNumbers) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{4, 4}}) {
    const Aval aval{shape, DType::f32};
    const Graph g = select_branches(cond(aval, branch(Op::negative, aval), branch(Op::square, aval)));
    EXPECT_EQ(count(g, Op::cond), 0) << print(g);
    EXPECT_EQ(count(g, Op::select), 1) << print(g);
    EXPECT_EQ(g.aval(g.outputs[0]), aval);
  }
}

TEST(SelectBranches, NotWhatTakesLongOrIsMuch) {
  const Aval small{{}, DType::f32}, large{{17}, DType::f32};
  EXPECT_EQ(count(select_branches(cond(large, branch(Op::negative, large), branch(Op::square, large))), Op::cond), 1);
  EXPECT_EQ(count(select_branches(cond(small, branch(Op::exp, small, 50), branch(Op::square, small))), Op::cond), 1);
}

TEST(SelectBranches, BranchesOfBranches) {
  const Aval aval{{}, DType::f32};
  Graph then;
  const ValueId y = then.add_input(aval);
  const ValueId positive = then.add(Op::greater, {y, then.constant(0, DType::f32, {})});
  then.outputs = {cond(then, positive, y, branch(Op::sqrt, aval), branch(Op::negative, aval))};
  const Graph outer = cond(aval, std::make_shared<const Graph>(then), branch(Op::square, aval));
  const Graph g = select_branches(outer);
  EXPECT_EQ(count(g, Op::cond), 0) << print(g);
  EXPECT_EQ(count(g, Op::select), 2) << print(g);
}

}  // namespace
}  // namespace neap::planner
