// What the batching rules share. A rule runs inside a trace; batches are axis 0.
#pragma once

#include <neap/creation.h>
#include <neap/ops.h>

#include <vector>

#include "core/check.h"
#include "trace/graph/op_table.h"
#include "trace/tracing/tracing.h"

namespace neap::tracing {

struct VmapSite {
  const Graph& graph;
  const Node& node;
  const Arrays& in;
  const std::vector<bool>& batched;  // of the operands; at least one is, but of what has collectives along the axis
  int64_t size;                      // of the batch
  const MeshAxis* axis = nullptr;    // that the batch is, if any: collectives along it are between the examples

  /// Returns the operand's shape without the batch.
  const Shape& shape(size_t operand) const { return graph.aval(node.inputs[operand]).shape; }
  int64_t rank(size_t operand) const { return static_cast<int64_t>(shape(operand).size()); }
  /// Returns the operand with a batch, repeated where it has none.
  Array with_batch(size_t operand) const;
  Array apply(const Arrays& operands, const Attrs& attrs) const;
};

/// Returns x repeated along a new axis 0.
Array repeated(const Array& x, int64_t size);
/// Returns the list with each entry moved up by one; after() also puts `first` before it.
Ints shifted(const Ints& axes);
Ints after(int64_t first, const Ints& list);

Array vmap_layout(const VmapSite& site);
Array vmap_dot(const VmapSite& site);
Array vmap_convolution(const VmapSite& site);
Array vmap_factor(const VmapSite& site);
Array vmap_gather(const VmapSite& site);
Array vmap_scatter(const VmapSite& site);
Array vmap_dynamic_slice(const VmapSite& site);
Array vmap_dynamic_update_slice(const VmapSite& site);
Array vmap_collective(const VmapSite& site);

struct BatchedResults {
  Arrays values;
  std::vector<bool> batched;
};
BatchedResults vmap_loop(const VmapSite& site);
BatchedResults vmap_cond(const VmapSite& site);
BatchedResults vmap_call(const VmapSite& site);
/// Throws where ranks may go different ways, and some of them wait for the others in a collective.
void check_way(const VmapSite& site, std::string_view what);
/// Makes of a collective along the batch an operation on it.
BatchedResults vmap_along(const VmapSite& site);

}  // namespace neap::tracing
