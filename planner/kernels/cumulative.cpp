#include "planner/kernels/cumulative.h"

#include "core/check.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

Cumulation kind_of(Op op) {
  switch (op) {
    case Op::cumsum: return Cumulation::sum;
    case Op::cumprod: return Cumulation::prod;
    case Op::cummax: return Cumulation::max;
    case Op::cummin: return Cumulation::min;
    default: break;
  }
  NEAP_CHECK(false, "{} is not cumulative", name(op));
  __builtin_unreachable();
}

}  // namespace

CumulativeForm cumulative_form(const Graph& graph, const Node& node) {
  const Aval& x = graph.aval(node.inputs[0]);
  const int64_t axis = node.attrs.integer(Attr::axis);
  CumulativeForm form{.kind = kind_of(node.op)};
  form.dtype = x.dtype;
  form.reverse = node.attrs.integer(Attr::reverse) != 0;
  form.length = x.shape[axis];
  for (int64_t d = 0; d < x.ndim(); ++d) {
    if (d != axis) (d < axis ? form.outer : form.inner) *= x.shape[d];
  }
  return form;
}

DType cumulative_accumulator(const CumulativeForm& form) {
  if (!is_float(form.dtype)) return form.dtype;
  if (form.kind == Cumulation::sum || form.kind == Cumulation::prod) return DType::f64;
  return form.dtype == DType::f64 ? DType::f64 : DType::f32;
}

std::vector<Aval> cumulative_scratch(const CumulativeForm& form, bool gpu) {
  if (form.size() == 0) return {};
  if (!gpu) {
    const auto bytes = static_cast<int64_t>(cumulative_layout(form).scratch_bytes);
    return bytes == 0 ? std::vector<Aval>{} : std::vector<Aval>{{{bytes}, DType::u8}};
  }
  const int64_t block = cumulative_block(form), blocks = (form.length + block - 1) / block;
  if (blocks == 1) return {};
  return {{{form.outer, blocks, form.inner}, cumulative_accumulator(form)}};
}

}  // namespace neap::planner
