// Rules of gather and scatter: indices are read in their own dtype, never widened first.
#include "planner/builder.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace trace;

ValueId simplify_indexed(Builder& b, const Term& term) {
  const Family family = op_info(term.op).family;
  if (family != Family::gather && family != Family::scatter) return no_value;
  // Through reshapes, which commute with the conversion.
  ValueId v = term.inputs[1];
  const Shape shape = b.aval(v).shape;
  if (const Node* node = b.match(v, Op::reshape)) v = node->inputs[0];
  const Node* node = b.match(v, Op::convert);
  if (!node) return no_value;
  const ValueId source = node->inputs[0];
  const DType from = b.aval(source).dtype;
  if (!is_integer(from) || !holds_exactly(b.aval(v).dtype, from)) return no_value;
  Term narrow = term;
  narrow.inputs[1] = b.reshape(source, shape, term.loc);
  return b.add(std::move(narrow));
}

}  // namespace neap::planner
