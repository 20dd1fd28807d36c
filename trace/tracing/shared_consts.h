// Functions of the same arrays that close over others: they become graphs with one list of constants in common.
#pragma once

#include <vector>

#include "trace/tracing/tracing.h"

namespace neap::tracing {

/// SharedConsts holds functions whose captured arrays become the first inputs of each: the same constants for all.
class SharedConsts {
 public:
  explicit SharedConsts(const Arrays& leaves);

  std::vector<Aval> avals;  // of the leaves

  void add(TracedFunction traced);
  /// Returns function i as it was added.
  const Graph& added(size_t i) const { return graphs_[i]; }
  /// Returns the graph (constants, parameters of function i) -> its results. The constants are those of all functions
  /// added so far.
  GraphPtr graph(size_t i) const;
  int64_t consts() const { return std::ssize(consts_); }
  /// Returns the constants, then the leaves.
  Arrays operands() const;

 private:
  const Arrays& leaves_;
  Arrays consts_;
  std::vector<std::vector<size_t>> places_;  // of each function's captured arrays among the constants
  std::vector<Graph> graphs_;
};

}  // namespace neap::tracing
