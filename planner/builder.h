// Builds a graph through rules: what every rewriting pass adds nodes with.
//
// Operands are always simplified already, so one pass over a graph, through add(), applies every rule everywhere: a
// rule looks at one node that is about to be made and at the definitions of its operands, and gives a value that equals
// it, bit for bit, or no_value. Tested in tests/planner/simplify_test.cpp.
#pragma once

#include <optional>
#include <source_location>
#include <unordered_map>
#include <vector>

#include "trace/graph.h"

namespace neap::planner {

/// A node that is about to be made.
struct Term {
  tracing::Op op;
  std::vector<tracing::ValueId> inputs;
  tracing::Attrs attrs;
  std::source_location loc;
};

class Builder {
 public:
  /// light: constants are folded, nothing else (the naive pipeline). full: all rules and common subexpressions.
  enum class Level { light, full };
  explicit Builder(Level level) : level_(level) {}

  tracing::Graph graph;

  /// A value equal to the term: simplified, or known already, or a new node.
  tracing::ValueId add(Term term);
  tracing::ValueId add(tracing::Op op, std::vector<tracing::ValueId> inputs, tracing::Attrs attrs,
                       std::source_location loc) {
    return add(Term{op, std::move(inputs), std::move(attrs), loc});
  }
  /// A constant in the canonical form: the value as int64 for other than floats.
  tracing::ValueId constant(tracing::AttrValue value, DType dtype, Shape shape, std::source_location loc);
  tracing::ValueId reshape(tracing::ValueId v, Shape shape, std::source_location loc);

  Level level() const { return level_; }
  const Aval& aval(tracing::ValueId v) const { return graph.aval(v); }
  /// The defining node if it is this op, else nullptr. The pointer is valid until the next add().
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

/// tracing::eliminate_dead_code() of a graph that may be used up: nothing is copied where all is live.
tracing::Graph drop_dead_code(tracing::Graph graph);

/// Gives an empty graph the name and the inputs of `from`. Returns what they are named in it, indexed by the values of
/// `from`; no_value for the others.
std::vector<tracing::ValueId> copy_inputs(tracing::Graph& to, const tracing::Graph& from);

/// Appends a node whose outputs have the avals of `node`'s in `from`; returns its id.
tracing::NodeId append_copy(tracing::Graph& to, const tracing::Graph& from, const tracing::Node& node,
                            std::vector<tracing::ValueId> inputs);

/// The same with the operands that `renamed`, indexed by the values of `from`, names in `to`; names its outputs there.
tracing::NodeId append_renamed(tracing::Graph& to, const tracing::Graph& from, const tracing::Node& node,
                               std::vector<tracing::ValueId>& renamed);

/// Whether an integer dtype holds 0 to `hi`; false for others.
bool holds(DType dtype, int64_t hi);

/// Whether every value of `from` is a value of `to` (converting there and back is the identity).
bool holds_exactly(DType to, DType from);

/// Whether the axes but those of extent 1 are in ascending order: moving them so is a reshape.
bool is_reshape(const Shape& shape, const tracing::Ints& permutation);

}  // namespace neap::planner
