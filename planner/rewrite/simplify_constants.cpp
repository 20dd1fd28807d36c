// Constants are folded: an op on constants, evaluated as a kernel would, is a constant.
#include <algorithm>

#include "planner/plan/marks.h"
#include "planner/rewrite/builder.h"
#include "trace/graph/infer.h"
#include "trace/graph/op_table.h"
#include "trace/scalar/scalar.h"

namespace neap::planner {

using namespace tracing;

namespace {

scalar::X literal(scalar::Dag& dag, const Attrs& attrs) {
  const DType dtype = attrs.dtype(Attr::dtype);
  if (const auto* i = std::get_if<int64_t>(attrs.find(Attr::value)); i && !is_float(dtype)) {
    return dag.integer(*i, dtype);
  }
  return dag.constant(attrs.real(Attr::value), dtype);
}

// Whether the op only moves elements (or repeats them), so that of a constant it is that constant in another shape.
bool moves(const Term& term) {
  switch (term.op) {
    case Op::broadcast_in_dim:
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
    case Op::reverse:
    case Op::sort:
    case Op::dynamic_slice:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_any:
    case Op::reduce_all: return true;
    case Op::gather: return term.attrs.integer(Attr::mode) != static_cast<int64_t>(IndexMode::fill_or_drop);
    default: return false;
  }
}

}  // namespace

ValueId fold_constants(Builder& b, const Term& term) {
  if (term.op == Op::constant) {  // integers in the canonical form
    const DType dtype = term.attrs.dtype(Attr::dtype);
    const bool whole = is_integer(dtype) && std::get_if<double>(term.attrs.find(Attr::value));
    if (!whole || has_mark(term.attrs, Mark::uninitialized)) return no_value;
    scalar::Dag dag;
    return b.constant(dag.constant_integer(literal(dag, term.attrs)), dtype, term.attrs.ints(Attr::shape), term.loc);
  }
  if (term.inputs.empty()) return no_value;
  const Node* first = b.match(term.inputs[0], Op::constant);
  if (!first) return no_value;
  const Attrs attrs = first->attrs;

  if (moves(term)) {
    const bool reduces = op_info(term.op).family == Family::reduce;
    if (reduces && b.aval(term.inputs[0]).size() == 0) return no_value;
    std::vector<Aval> operands;
    for (const ValueId v : term.inputs) operands.push_back(b.aval(v));
    return b.constant(*attrs.find(Attr::value), attrs.dtype(Attr::dtype),
                      infer(term.op, operands, term.attrs, term.loc)[0].shape, term.loc);
  }
  const Family family = op_info(term.op).family;
  if (family != Family::elementwise && family != Family::convert) return no_value;
  scalar::Dag dag;
  std::vector<scalar::X> operands;
  std::vector<Aval> avals;
  for (const ValueId v : term.inputs) {
    const Node* node = b.match(v, Op::constant);
    if (!node) return no_value;
    operands.push_back(literal(dag, node->attrs));
    avals.push_back(b.aval(v));
  }
  const Aval result = infer(term.op, avals, term.attrs, term.loc)[0];
  const scalar::X x = scalar::apply_op(term.op, operands, result.dtype);
  if (!dag.is_constant(x)) return no_value;
  AttrValue value;
  if (is_float(result.dtype)) {
    value = dag.constant_value(x);
  } else {
    value = dag.constant_integer(x);
  }
  return b.constant(std::move(value), result.dtype, result.shape, term.loc);
}

}  // namespace neap::planner
