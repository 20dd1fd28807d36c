#include "planner/kernels/dot.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>

#include "core/check.h"
#include "planner/plan/marks.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

Narrow narrow_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return Narrow::f16;
    case DType::bf16: return Narrow::bf16;
    case DType::i8: return Narrow::i8;
    case DType::u8: return Narrow::u8;
    default: return Narrow::no;
  }
}

}  // namespace

bool is_canonical_dot(const Graph& graph, const Node& node) {
  if (node.op != Op::dot_general) return false;
  const Aval& lhs = graph.aval(node.inputs[0]);
  const Aval& rhs = graph.aval(node.inputs[1]);
  const auto first_alone = [&](Attr axes) {
    const Ints& all = node.attrs.ints(axes);
    return all.size() == 1 && all[0] == 0;
  };
  return lhs.ndim() == 3 && rhs.ndim() == 3 &&
         (node.attrs.has(Attr::dtype) || lhs.dtype == DType::f32 || lhs.dtype == DType::f64 ||
          lhs.dtype == DType::f16 || lhs.dtype == DType::bf16) &&
         first_alone(Attr::lhs_batch) && first_alone(Attr::rhs_batch) &&
         node.attrs.ints(Attr::lhs_contract).size() == 1;
}

DotForm dot_form(const Graph& graph, const Node& node) {
  NEAP_CHECK(is_canonical_dot(graph, node), "dot_general is not canonical");
  const Aval& lhs = graph.aval(node.inputs[0]);
  const Aval& rhs = graph.aval(node.inputs[1]);
  DotForm form;
  form.lhs_transposed = node.attrs.ints(Attr::lhs_contract)[0] == 1;
  form.rhs_transposed = node.attrs.ints(Attr::rhs_contract)[0] == 2;
  form.batch = lhs.shape[0];
  form.m = lhs.shape[form.lhs_transposed ? 2 : 1];
  form.k = lhs.shape[form.lhs_transposed ? 1 : 2];
  form.n = rhs.shape[form.rhs_transposed ? 1 : 2];
  form.dtype = lhs.dtype;
  if (node.attrs.has(Attr::dtype)) {
    form.dtype = node.attrs.dtype(Attr::dtype);
    form.lhs_narrow = narrow_of(lhs.dtype);
    form.rhs_narrow = narrow_of(rhs.dtype);
  }
  form.of_bf16 = has_mark(node, Mark::of_bf16);
  form.adds = node.inputs.size() == 3;
  if (node.attrs.has(Attr::full_shape)) form.whole_k = node.attrs.ints(Attr::full_shape)[form.lhs_transposed ? 1 : 2];
  return form;
}

void check_gpu_dot(const Graph& graph, const Node& node) {
  const DotForm f = dot_form(graph, node);
  if (std::max({f.batch, f.m, f.n, f.k}) < int64_t{1} << 31) return;
  throw_user<UserError>(name(node.op), fmt::format("{} of {} x {} x {}", f.batch, f.m, f.k, f.n),
                        "each below 2^31 on a GPU", "multiply parts, or on the CPU", node.loc);
}

}  // namespace neap::planner
