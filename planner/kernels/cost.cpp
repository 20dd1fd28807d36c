#include "planner/kernels/cost.h"

#include <algorithm>

#include "planner/kernels/families.h"
#include "trace/scalar/scalar.h"

namespace neap::planner {

using namespace tracing;

namespace {

// A part of its operand, as it lies there: reading it costs what reading that does.
bool reads_in_place(const Node& node) {
  if (node.op == Op::slice) return std::ranges::all_of(node.attrs.ints(Attr::stride), [](int64_t s) { return s == 1; });
  return node.op == Op::reshape || node.op == Op::broadcast_in_dim;
}

}  // namespace

double element_cost(const Graph& graph, const Node& node) {
  const FamilyTraits& row = traits(node.op);
  if (row.cost != kByOp) return row.cost;
  if (row.family == Family::leaf) return node.op == Op::iota ? 1 : 0;
  if (row.family == Family::layout) return reads_in_place(node) ? 0 : 1;
  return scalar::op_cost(node.op, graph.aval(node.out()).dtype);
}

bool is_fusible(Op op) { return traits(op).fusible; }

bool reads_same_index(Op op) { return traits(op).same_index; }

}  // namespace neap::planner
