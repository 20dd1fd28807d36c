#include "planner/factor.h"

#include <fmt/format.h>
#include <neap/error.h>

#include "trace/factor.h"
#include "trace/op_table.h"

namespace neap::planner {

factor::Form factor_form(const trace::Graph& graph, const trace::Node& node) {
  std::vector<Aval> operands;
  for (const trace::ValueId v : node.inputs) operands.push_back(graph.aval(v));
  return trace::factor_form(node.op, operands, node.attrs);
}

void check_gpu_factor(const trace::Node& node) {
  throw_user<UserError>(trace::name(node.op), "a dense factorization on a GPU", "the CPU",
                        "compile this part with jit(f, {.device = neap::cpu()}) and copy what it needs there",
                        node.loc);
}

}  // namespace neap::planner
