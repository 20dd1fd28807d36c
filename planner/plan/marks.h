// One pass of the planner tells those after it about a node by marks: bits of Attr::marks, of which a node may have
// several. Tested in tests/planner/marks_test.cpp.
#pragma once

#include <cstdint>

#include "trace/graph/graph.h"

namespace neap::planner {

enum class Mark : uint16_t {
  join = 1 << 0,            // of concatenate: its pieces are written where they belong, so that it needs no step
  materialize = 1 << 1,     // stored whatever it costs
  separate = 1 << 2,        // of a copy (stop_gradient): stored, so that what reads it does not read what it copies
  uninitialized = 1 << 3,   // of a constant that its only reader writes before anything reads it: memory, but no step
  in_order = 1 << 4,        // of a scatter: rows are added one after the other, for their bits
  unique_indices = 1 << 5,  // of a scatter: no element is updated twice
  inner_product = 1 << 6,   // of the multiply inside a dot_general that became multiply and reduce_sum
  dot_slice = 1 << 7,       // of a canonical dot_general that stays one whatever its extents: a slice of another
  chunked = 1 << 8,         // of a loop: it runs over the slices of a region
  unmerged = 1 << 9,        // of a materialized value: its step makes nothing else
  of_bf16 = 1 << 10,        // of a canonical dot_general: of bf16 in the program (planner/kernels/dot.h)
  short_product = 1 << 11,  // of few terms: added up in its own dtype (planner/kernels/dot.h)
};

void set_mark(tracing::Attrs& attrs, Mark mark);
bool has_mark(const tracing::Attrs& attrs, Mark mark);
inline bool has_mark(const tracing::Node& node, Mark mark) { return has_mark(node.attrs, mark); }

/// Returns the attributes with one more mark.
inline tracing::Attrs marked(tracing::Attrs attrs, Mark mark) {
  set_mark(attrs, mark);
  return attrs;
}

/// Tells whether the node is a concatenate that needs no step.
bool is_join(const tracing::Node& node);

/// Tells whether a node rematerializes a value: it computes again what another node has computed.
bool is_copy(const tracing::Node& node);

}  // namespace neap::planner
