// A program as searches plan it: real numbers only, and simplified once for all the plans that are tried of it. Tested
// in tests/planner/program_test.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

class Program {
 public:
  /// Takes a graph as it was traced.
  Program(tracing::Graph graph, const Target& target);
  /// Takes one that was a program's.
  explicit Program(tracing::Graph graph);

  /// As it was given, but for effects, which are in order (trace/graph/effects.h: then the last result is theirs),
  /// complex numbers, which are pairs of real ones (planner/rewrite/complex.h), and
  /// convolutions, which are what the target takes (planner/rewrite/lower_convolution.h).
  const tracing::Graph& graph() const { return graph_; }
  /// Simplified by all rules, when it is first asked for: the naive pipeline never asks.
  const tracing::Graph& simple() const;
  /// Simplified as the naive pipeline does.
  tracing::Graph light() const;
  /// Simplified as simple() is, every random_bits that can be having `chunks` keys (planner/rewrite/subkey.h).
  tracing::Graph with_subkeys(int64_t chunks) const;

 private:
  tracing::Graph graph_;
  mutable std::optional<tracing::Graph> simple_;
};

}  // namespace neap::planner
