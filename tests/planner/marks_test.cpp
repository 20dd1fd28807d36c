// Marks of nodes: several at once, through simplification and as text.
#include "planner/plan/marks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graphs.h"
#include "planner/rewrite/simplify.h"

namespace neap::planner {
namespace {

using tracing::Node;

TEST(Marks, ANodeMayHaveSeveral) {
  tracing::Attrs attrs;
  EXPECT_FALSE(has_mark(attrs, Mark::in_order));
  set_mark(attrs, Mark::in_order);
  set_mark(attrs, Mark::unique_indices);
  EXPECT_TRUE(has_mark(attrs, Mark::in_order));
  EXPECT_TRUE(has_mark(attrs, Mark::unique_indices));
  EXPECT_FALSE(has_mark(attrs, Mark::join));
}

TEST(Marks, AreReadBackFromText) {
  Graph g;
  const ValueId x = g.add_input({{4}, DType::f32});
  g.outputs = {g.add(Op::stop_gradient, {x}, marked(marked({}, Mark::separate), Mark::materialize))};
  const Graph read = tracing::parse(print(g));
  EXPECT_EQ(read.nodes[0].attrs, g.nodes[0].attrs);
  EXPECT_TRUE(has_mark(read.nodes[0], Mark::separate));
}

// Equal nodes become one, but for those that marks tell apart.
TEST(Marks, KeepNodesApart) {
  Graph g;
  const ValueId x = g.add_input({{4}, DType::f32});
  const ValueId plain = g.add(Op::sin, {x}), equal = g.add(Op::sin, {x});
  const ValueId kept = g.add(Op::sin, {x}, marked({}, Mark::materialize));
  g.outputs = {plain, equal, kept};
  const Graph simple = simplify(g);
  EXPECT_EQ(simple.nodes.size(), 2u);
  EXPECT_EQ(std::ranges::count_if(simple.nodes, [](const Node& node) { return has_mark(node, Mark::materialize); }), 1);
}

}  // namespace
}  // namespace neap::planner
