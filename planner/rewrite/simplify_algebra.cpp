// These are the rules of elementwise ops, conversions and reductions. Only identities that keep every bit are used:
// x + 0 is not one for floats (-0 + 0 is 0), x - 0 is.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "planner/plan/graph_edit.h"
#include "planner/rewrite/builder.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

std::optional<double> literal(const Builder& b, ValueId v) {
  const Node* node = b.match(v, Op::constant);
  if (!node) return std::nullopt;
  return node->attrs.real(Attr::value);
}

bool is_literal(const Builder& b, ValueId v, double value) {
  const auto x = literal(b, v);
  return x && *x == value && std::signbit(*x) == std::signbit(value);
}

ValueId convert_rule(Builder& b, const Term& term) {
  const ValueId x = term.inputs[0];
  const DType to = term.attrs.dtype(Attr::dtype);
  if (b.aval(x).dtype == to) return x;
  if (term.op == Op::bitcast) {
    if (const Node* inner = b.match(x, Op::bitcast)) {
      const ValueId source = inner->inputs[0];
      return b.add(Op::bitcast, {source}, {{Attr::dtype, to}}, term.loc);
    }
    return no_value;
  }
  const Node* inner = b.match(x, Op::convert);
  if (!inner) return no_value;
  const ValueId source = inner->inputs[0];
  const DType from = b.aval(source).dtype, middle = b.aval(x).dtype;
  if (!holds_exactly(middle, from)) return no_value;
  // A float converts to an integer with saturation, an integer by wrapping.
  if (is_float(middle) && !is_float(from) && !is_float(to) && !holds_exactly(to, from)) return no_value;
  return b.add(Op::convert, {source}, {{Attr::dtype, to}}, term.loc);
}

ValueId select_rule(const Builder& b, const Term& term) {
  const auto& [condition, yes, no] = std::tie(term.inputs[0], term.inputs[1], term.inputs[2]);
  if (yes == no) return yes;
  if (const auto value = literal(b, condition)) return *value != 0 ? yes : no;
  return no_value;
}

ValueId binary_rule(const Builder& b, const Term& term) {
  const ValueId x = term.inputs[0], y = term.inputs[1];
  const DType dtype = b.aval(x).dtype;
  const bool integer = !is_float(dtype);
  switch (term.op) {
    case Op::add:
      if (is_literal(b, y, integer ? 0.0 : -0.0)) return x;
      if (is_literal(b, x, integer ? 0.0 : -0.0)) return y;
      return no_value;
    case Op::subtract: return is_literal(b, y, 0.0) ? x : no_value;
    case Op::multiply:
      if (is_literal(b, y, 1.0)) return x;
      if (is_literal(b, x, 1.0)) return y;
      if (integer && is_literal(b, y, 0.0)) return y;
      if (integer && is_literal(b, x, 0.0)) return x;
      return no_value;
    case Op::divide: return is_literal(b, y, 1.0) ? x : no_value;
    case Op::maximum:
    case Op::minimum:
    case Op::bitwise_and:
    case Op::bitwise_or:
      if (x == y) return x;
      if (term.op == Op::bitwise_or && is_literal(b, y, 0.0)) return x;
      if (term.op == Op::bitwise_or && is_literal(b, x, 0.0)) return y;
      if (term.op == Op::bitwise_and && is_literal(b, y, 0.0)) return y;
      if (term.op == Op::bitwise_and && is_literal(b, x, 0.0)) return x;
      if (term.op == Op::bitwise_and && dtype == DType::bool_ && is_literal(b, y, 1.0)) return x;
      if (term.op == Op::bitwise_and && dtype == DType::bool_ && is_literal(b, x, 1.0)) return y;
      return no_value;
    case Op::bitwise_xor:
    case Op::shift_left:
    case Op::shift_right: return is_literal(b, y, 0.0) ? x : no_value;
    default: return no_value;
  }
}

ValueId reduce_rule(Builder& b, const Term& term) {
  if (term.inputs.size() == 2) return no_value;
  const ValueId x = term.inputs[0];
  const Shape& shape = b.aval(x).shape;
  Shape kept;
  const Ints& axes = term.attrs.ints(Attr::axes);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (std::ranges::find(axes, static_cast<int64_t>(i)) == axes.end()) {
      kept.push_back(shape[i]);
    } else if (shape[i] != 1) {
      return no_value;
    }
  }
  const ValueId same = b.reshape(x, kept, term.loc);  // of one element each
  const DType t = b.aval(x).dtype;
  // A sum starts from 0, so that of -0 is 0.
  if (term.op != Op::reduce_sum || !is_float(t)) return same;
  return b.add(Op::add, {same, b.constant(AttrValue(0.0), t, kept, term.loc)}, {}, term.loc);
}

}  // namespace

ValueId simplify_algebra(Builder& b, const Term& term) {
  const OpInfo& info = op_info(term.op);
  if (info.family == Family::convert) return convert_rule(b, term);
  if (info.family == Family::reduce) return reduce_rule(b, term);
  if (info.family == Family::cumulative) {  // of one element
    return b.aval(term.inputs[0]).shape[term.attrs.integer(Attr::axis)] == 1 ? term.inputs[0] : no_value;
  }
  if (term.op == Op::pvary || term.op == Op::pinvariant) return term.inputs[0];
  if (info.family != Family::elementwise) return no_value;
  if (term.op == Op::stop_gradient) return term.inputs[0];
  if (term.op == Op::select) return select_rule(b, term);
  if (info.arity == 2) return binary_rule(b, term);
  if (term.op == Op::negative || term.op == Op::bitwise_not) {
    if (const Node* inner = b.match(term.inputs[0], term.op)) return inner->inputs[0];
  }
  return no_value;
}

}  // namespace neap::planner
