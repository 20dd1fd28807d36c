// The planner's one table of families, against what its rows mean.
#include "planner/kernels/families.h"

#include <gtest/gtest.h>

#include "planner/kernels/cost.h"
#include "tests/trace/samples.h"

namespace neap::planner {
namespace {

using tracing::Family;
using tracing::OpInfo;

TEST(Families, WhatIsStoredByAnOpaqueStepIsNotFused) {
  for (const OpInfo& op : tracing::op_table()) {
    const FamilyTraits& row = traits(op.op);
    EXPECT_EQ(row.family, op.family) << op.name;
    EXPECT_FALSE(row.fusible && row.kind != PlanStep::Kind::map) << op.name;
    EXPECT_FALSE(row.same_index && !row.fusible) << op.name;  // one loop over the elements
    EXPECT_FALSE(row.same_index && !row.in_place) << op.name;
  }
}

TEST(Families, EveryOpThatAKernelComputesHasACost) {
  for (const OpInfo& op : tracing::op_table()) {
    const tracing::Graph graph =
        tracing::sample_graph(op.op, op.family == Family::elementwise ? tracing::sample_dtype(op.op) : DType::f32);
    const double cost = element_cost(graph, *graph.def(graph.outputs[0]));
    EXPECT_GE(cost, 0) << op.name;
    if (op.family == Family::elementwise && op.op != tracing::Op::stop_gradient) EXPECT_GT(cost, 0) << op.name;
  }
}

}  // namespace
}  // namespace neap::planner
