#include "planner/factor.h"

#include <fmt/format.h>
#include <neap/error.h>

#include "trace/factor.h"
#include "trace/op_table.h"

namespace neap::planner {

factor::Form factor_form(const tracing::Graph& graph, const tracing::Node& node) {
  return tracing::factor_form(node.op, graph.avals(node.inputs), node.attrs);
}

void check_gpu_factor(const tracing::Node& node) {
  throw_user<UserError>(tracing::name(node.op), "a dense factorization on a GPU", "the CPU",
                        "compile this part with jit(f, {.device = neap::cpu()}) and copy what it needs there",
                        node.loc);
}

}  // namespace neap::planner
