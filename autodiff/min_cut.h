// The cheapest vertices that separate the sources of a directed graph from its sinks: a minimum cut, by maximum flow
// along shortest paths (Edmonds and Karp, Theoretical improvements in algorithmic efficiency for network flow problems,
// 1972). Tested in tests/autodiff/min_cut_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace neap::autodiff {

struct CutProblem {
  std::vector<int64_t> cost;                 // of each vertex, 0 or more
  std::vector<std::vector<int>> successors;  // of each vertex
  std::vector<bool> source, sink;            // of each vertex; one may be both
};

/// Marks the vertices to cut: each way from a source to a sink, ends included, goes through one of them, and no others
/// cost less in all. Of several such cuts it is the one nearest to the sources.
std::vector<bool> min_vertex_cut(const CutProblem& problem);

}  // namespace neap::autodiff
