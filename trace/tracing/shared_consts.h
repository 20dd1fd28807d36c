// Functions of the same arrays that close over others: graphs of one list of constants and those arrays.
#pragma once

#include <vector>

#include "trace/tracing/tracing.h"

namespace neap::tracing {

/// Functions whose captured arrays are the first inputs of each: the same constants for all.
class SharedConsts {
 public:
  explicit SharedConsts(const Arrays& leaves);

  std::vector<Aval> avals;  // of the leaves

  void add(TracedFunction traced);
  /// Function i as it was added.
  const Graph& added(size_t i) const { return graphs_[i]; }
  /// (constants, parameters of function i) -> its results. The constants are of all functions added so far.
  GraphPtr graph(size_t i) const;
  int64_t consts() const { return std::ssize(consts_); }
  /// Constants, then the leaves.
  Arrays operands() const;

 private:
  const Arrays& leaves_;
  Arrays consts_;
  std::vector<std::vector<size_t>> places_;  // of each function's captured arrays among the constants
  std::vector<Graph> graphs_;
};

}  // namespace neap::tracing
