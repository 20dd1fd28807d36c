// The graph of a function, for users to read.
#include <neap/trace.h>

#include <ostream>

#include "trace/tracing/tracing.h"

namespace neap {

struct TracedGraph::Impl {
  tracing::Graph graph;
};

std::string TracedGraph::text() const { return tracing::print(impl_->graph); }
size_t TracedGraph::operations() const { return impl_->graph.nodes.size(); }
std::ostream& operator<<(std::ostream& out, const TracedGraph& graph) { return out << graph.text(); }

TracedGraph detail::trace_of(const LeafFunction& f, const std::vector<Array>& leaves, std::source_location loc) {
  const tracing::AtLine line(loc);
  const tracing::Graph graph = tracing::eliminate_dead_code(tracing::trace(tracing::avals_of(leaves, loc), f).graph);
  return TracedGraph(std::make_shared<const TracedGraph::Impl>(TracedGraph::Impl{graph}));
}

}  // namespace neap
