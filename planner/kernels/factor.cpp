#include "planner/kernels/factor.h"

#include <algorithm>

#include "core/buffer.h"
#include "trace/graph/factor.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

factor::Form factor_form(const tracing::Graph& graph, const tracing::Node& node) {
  return tracing::factor_form(node.op, graph.avals(node.inputs), node.attrs);
}

HostWork host_work(const tracing::Graph& graph, const tracing::Node& node, const Target& target) {
  HostWork work;
  if (target.host_memory) return work;
  for (const tracing::ValueId v : node.inputs) {
    work.sent += graph.aval(v).bytes();
    work.held += round_up_64(graph.aval(v).bytes());
  }
  work.returned = graph.aval(node.out()).bytes();
  work.held += round_up_64(work.returned);
  if (tracing::op_info(node.op).family == tracing::Family::factor)
    work.held += round_up_64(factor::layout(factor_form(graph, node)).bytes());
  return work;
}

}  // namespace neap::planner
