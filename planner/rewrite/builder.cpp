#include "planner/rewrite/builder.h"

#include <algorithm>

#include "planner/plan/marks.h"
#include "planner/rewrite/lower_dot.h"
#include "planner/rewrite/lower_factor.h"
#include "planner/rewrite/lower_sort.h"
#include "trace/graph/infer.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

// What a term becomes stays apart from the original if the term does. Regions and labels were for autodiff.
ValueId Builder::add(Term term) {
  const int64_t outer = copy_;
  copy_ = std::max(copy_, term.attrs.integer_or(Attr::copy, 0));
  for (const Attr mark : {Attr::copy, Attr::label, Attr::region, Attr::saveable}) term.attrs.erase(mark);
  const ValueId v = rewrite(std::move(term));
  copy_ = outer;
  return v;
}

ValueId Builder::rewrite(Term term) {
  if (const ValueId v = fold_constants(*this, term); v != no_value) return v;
  if (const ValueId v = lower_dot(*this, term); v != no_value) return v;
  if (const ValueId v = lower_sort(*this, term); v != no_value) return v;
  if (level_ == Level::full) {
    using Rule = ValueId (*)(Builder&, const Term&);
    constexpr Rule kRules[] = {simplify_algebra, simplify_layout, simplify_join, simplify_indexed, lower_factor};
    for (const Rule rule : kRules) {
      if (const ValueId v = rule(*this, term); v != no_value) return v;
    }
  }
  return intern(std::move(term));
}

ValueId Builder::intern(Term term) {
  const Family family = op_info(term.op).family;
  if (copy_ > 0 && family != Family::leaf && term.op != Op::reshape) term.attrs.set(Attr::copy, copy_);
  const bool alone = term.op == Op::constant && has_mark(term.attrs, Mark::uninitialized);
  if (level_ == Level::light || alone)
    return graph.add(term.op, std::move(term.inputs), std::move(term.attrs), term.loc);
  size_t hash = term.attrs.hash() * 31 + static_cast<size_t>(term.op);
  for (const ValueId v : term.inputs) hash = hash * 0x9E3779B97F4A7C15u + static_cast<size_t>(v);
  for (auto [it, end] = known_.equal_range(hash); it != end; ++it) {
    const Node& node = graph.nodes[it->second];
    if (node.op == term.op && node.inputs == term.inputs && node.attrs == term.attrs) return node.out();
  }
  const NodeId id = graph.add_node(term.op, std::move(term.inputs), std::move(term.attrs), term.loc);
  known_.emplace(hash, id);
  return graph.nodes[id].out();
}

ValueId Builder::constant(AttrValue value, DType dtype, Shape shape, std::source_location loc) {
  return add(Op::constant, {}, {{Attr::value, std::move(value)}, {Attr::dtype, dtype}, {Attr::shape, std::move(shape)}},
             loc);
}

ValueId Builder::reshape(ValueId v, Shape shape, std::source_location loc) {
  if (aval(v).shape == shape) return v;
  return add(Op::reshape, {v}, {{Attr::shape, std::move(shape)}}, loc);
}

}  // namespace neap::planner
