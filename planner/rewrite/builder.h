// The builder makes a graph through rules; simplification adds its nodes with it.
//
// Operands are always simplified already, so one pass over a graph, through add(), applies every rule everywhere: a
// rule looks at one node that is about to be made and at the definitions of its operands, and gives a value that equals
// it, bit for bit, or no_value. Tested in tests/planner/simplify_test.cpp.
#pragma once

#include <optional>
#include <source_location>
#include <unordered_map>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::planner {

/// Describes a node that is about to be made.
struct Term {
  tracing::Op op;
  std::vector<tracing::ValueId> inputs;
  tracing::Attrs attrs;
  std::source_location loc;
};

class Builder {
 public:
  /// `light` (the naive pipeline) folds constants and makes products and sorts canonical. `full` applies all rules and
  /// shares common subexpressions.
  enum class Level { light, full };
  explicit Builder(Level level) : level_(level) {}

  tracing::Graph graph;

  /// Returns a value equal to the term: a simplified one, one that is known already, or a new node's.
  tracing::ValueId add(Term term);
  tracing::ValueId add(tracing::Op op, std::vector<tracing::ValueId> inputs, tracing::Attrs attrs,
                       std::source_location loc) {
    return add(Term{op, std::move(inputs), std::move(attrs), loc});
  }
  /// Adds a constant in the canonical form: `value` is an int64 for dtypes other than floats.
  tracing::ValueId constant(tracing::AttrValue value, DType dtype, Shape shape, std::source_location loc);
  tracing::ValueId reshape(tracing::ValueId v, Shape shape, std::source_location loc);

  Level level() const { return level_; }
  const Aval& aval(tracing::ValueId v) const { return graph.aval(v); }
  /// Returns the defining node if it is this op, else nullptr. The pointer is valid until the next add().
  const tracing::Node* match(tracing::ValueId v, tracing::Op op) const {
    return graph.is(v, op) ? graph.def(v) : nullptr;
  }

 private:
  tracing::ValueId intern(Term term);
  tracing::ValueId rewrite(Term term);
  Level level_;
  int64_t copy_ = 0;  // Attr::copy of the term that is being added
  std::unordered_multimap<size_t, tracing::NodeId> known_;
};

// The rules, by family; each gives no_value where it does not apply. One source each, simplify_<family>.cpp.
tracing::ValueId fold_constants(Builder& b, const Term& term);    // all operands are constants
tracing::ValueId simplify_algebra(Builder& b, const Term& term);  // elementwise, convert, reductions
tracing::ValueId simplify_layout(Builder& b, const Term& term);   // reshape, transpose, broadcast, slice, pad, reverse
tracing::ValueId simplify_join(Builder& b, const Term& term);     // concatenate
tracing::ValueId simplify_indexed(Builder& b, const Term& term);  // gather, scatter

}  // namespace neap::planner
