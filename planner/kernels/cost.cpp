#include "planner/kernels/cost.h"

#include "trace/graph/op_table.h"
#include "trace/scalar/scalar.h"

namespace neap::planner {

using namespace tracing;

double element_cost(const Graph& graph, const Node& node) {
  const OpInfo& info = op_info(node.op);
  switch (info.family) {
    case Family::elementwise:
    case Family::convert: return scalar::op_cost(node.op, graph.aval(node.out()).dtype);
    case Family::leaf: return node.op == Op::iota ? 1 : 0;
    case Family::layout: return node.op == Op::reshape || node.op == Op::broadcast_in_dim ? 0 : 1;
    case Family::reduce: return 1;
    case Family::argreduce: return 3;
    case Family::gather: return 10;
    case Family::scatter: return 200;  // 0.21 Gidx/s
    case Family::random: return 56;    // 0.85 Gelem/s
    case Family::complex:              // lowered before
    case Family::fft:
    case Family::dot:
    case Family::sort:
    case Family::factor:
    case Family::control:
    case Family::call: return 0;
  }
  return 0;
}

bool is_fusible(Op op) {
  switch (op_info(op).family) {
    case Family::elementwise:
    case Family::convert:
    case Family::leaf:
    case Family::layout:
    case Family::gather:
    case Family::random: return true;
    default: return false;
  }
}

bool reads_same_index(Op op) {
  const Family family = op_info(op).family;
  return family == Family::elementwise || family == Family::convert;
}

}  // namespace neap::planner
