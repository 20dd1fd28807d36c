// Vectorisation: a graph that does for a batch what a graph does for one example.
//
// Inside, a batched value has its batch as axis 0, and a value that does not depend on the batch has none and is
// computed once. Every family of ops has its rule. Tested in tests/trace/vmap_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/graph/graph.h"
#include "trace/graph/mesh.h"

namespace neap::tracing {

/// Returns the graph over a batch. Its inputs are g's, those with an axis in `in_axes` having one more axis of `size`
/// elements there; its outputs are g's, with the batch as axis out_axes[i] (copies where an output does not depend on
/// the batch).
Graph vmap(const Graph& g, const std::vector<std::optional<int64_t>>& in_axes, int64_t size,
           const std::vector<int64_t>& out_axes);

/// BatchedGraph is the same with batches at axis 0, and only of what depends on them: outputs marked in `batched` have
/// one. Where the batch is an axis of a mesh, collectives along it are between the examples.
struct BatchedGraph {
  Graph graph;
  std::vector<bool> batched;
};
BatchedGraph vmap_active(const Graph& g, const std::vector<bool>& batched, int64_t size,
                         const MeshAxis* axis = nullptr);

}  // namespace neap::tracing
