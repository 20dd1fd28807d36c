// The operands and results of a loop, by their place.
//
//   scan:       (constants, initial carries, stacked inputs) -> (final carries, stacked results)
//   while_loop: (constants, initial carries) -> final carries; it goes on while carry 0 is true
//
// The body takes (constants, carries, a slice of each stacked input) and gives (carries, a slice of each stacked
// result).
#pragma once

#include "trace/graph/graph.h"

namespace neap::tracing {

struct LoopLayout {
  size_t consts = 0, carries = 0;

  // Of a scan or while_loop.
  explicit LoopLayout(const Attrs& attrs)
      : consts(static_cast<size_t>(attrs.integer(Attr::num_consts))),
        carries(static_cast<size_t>(attrs.integer(Attr::num_carry))) {}

  // By the number of an operand, or of a result; of the body's inputs and outputs too.
  bool is_const(size_t input) const { return input < consts; }
  bool is_carry(size_t input) const { return input >= consts && input < consts + carries; }
  bool is_stacked_input(size_t input) const { return input >= consts + carries; }
  bool is_stacked_result(size_t output) const { return output >= carries; }
};

/// CountedLoop says how often it runs, too.
struct CountedLoop : LoopLayout {
  explicit CountedLoop(const Attrs& attrs) : LoopLayout(attrs), length(attrs.integer_or(Attr::length, 0)) {}

  int64_t length;  // of a while_loop: the most iterations, where there is a limit, else 0
};

/// LoopView is a scan or while_loop, taken apart.
struct LoopView : CountedLoop {
  explicit LoopView(const Node& node)
      : CountedLoop(node.attrs),
        node(node),
        body(*node.attrs.graph(Attr::body)),
        reverse(node.attrs.integer_or(Attr::reverse, 0) != 0),
        operands(node.inputs.size()),
        results(node.outputs.size()) {}

  const Node& node;
  const Graph& body;
  bool reverse;
  size_t operands, results;
};

}  // namespace neap::tracing
