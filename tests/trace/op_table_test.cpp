// The op table: every row is whole, takes the dtypes that it says, and needs the attributes that it asks for.
#include "trace/graph/op_table.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/trace/samples.h"

namespace neap::tracing {
namespace {

TEST(OpTable, EveryRowIsWhole) {
  ASSERT_EQ(op_table().size(), static_cast<size_t>(kOpCount));
  std::set<std::string_view> names;
  for (int i = 0; i < kOpCount; ++i) {
    const OpInfo& row = op_table()[static_cast<size_t>(i)];
    EXPECT_EQ(row.op, static_cast<Op>(i)) << row.name;
    EXPECT_FALSE(row.name.empty());
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    EXPECT_FALSE(row.doc.empty()) << row.name << " is not documented";
    EXPECT_EQ(find_op(row.name), row.op);
    EXPECT_EQ(row.family == Family::elementwise, row.types != TypeRule::structural) << row.name;
  }
  EXPECT_FALSE(find_op("no_such_op"));
}

TEST(OpTable, EveryElementwiseRowTakesADtypeAndInfersIt) {
  EXPECT_GT(elementwise_ops().size(), 60u);
  for (const Op op : elementwise_ops()) {
    const TypeRule rule = op_info(op).types;
    int taken = 0;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (accepts(rule, dtype) || (is_complex(dtype) && op_info(op).complex)) {
        const Graph graph = sample_graph(op, dtype);
        EXPECT_EQ(graph.aval(graph.outputs[0]), (Aval{{2, 3}, result_dtype(rule, dtype)})) << name(op);
        ++taken;
      } else {
        EXPECT_THROW(sample_graph(op, dtype), DTypeError) << name(op) << " of " << neap::name(dtype);
      }
    }
    EXPECT_GT(taken, 0) << name(op);
  }
}

TEST(OpTable, EveryOpHasASampleThatNeedsItsAttributes) {
  for (const OpInfo& row : op_table()) {
    const Graph graph = sample_graph(row.op, row.family == Family::elementwise ? sample_dtype(row.op) : f32);
    const Node& node = *graph.def(graph.outputs[0]);
    std::vector<Aval> operands;
    for (const ValueId v : node.inputs) operands.push_back(graph.aval(v));
    for (const Attr attr : row.required) {
      Attrs fewer;
      for (const auto& [key, value] : node.attrs.items()) {
        if (key != attr) fewer.set(key, value);
      }
      Graph copy = graph;
      EXPECT_THROW(copy.add_node(row.op, node.inputs, fewer, node.loc), InternalError) << row.name << " " << name(attr);
    }
  }
}

TEST(OpTable, RulesSayWhichDtypes) {
  EXPECT_TRUE(accepts(TypeRule::numeric, i8));
  EXPECT_FALSE(accepts(TypeRule::numeric, bool_));
  EXPECT_TRUE(accepts(TypeRule::integral, bool_));
  EXPECT_FALSE(accepts(TypeRule::integral, f16));
  EXPECT_FALSE(accepts(TypeRule::floating, i64));
  EXPECT_EQ(result_dtype(TypeRule::compare, f64), bool_);
  EXPECT_EQ(result_dtype(TypeRule::select, f64), f64);
}

}  // namespace
}  // namespace neap::tracing
