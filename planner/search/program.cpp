#include "planner/search/program.h"

#include <utility>

#include "planner/rewrite/complex.h"
#include "planner/rewrite/lower_convolution.h"
#include "planner/rewrite/lower_dot.h"
#include "planner/rewrite/product_sums.h"
#include "planner/rewrite/simplify.h"
#include "planner/rewrite/subkey.h"
#include "trace/graph/effects.h"

namespace neap::planner {

using tracing::Graph;

Program::Program(Graph graph, const Target& target)
    : graph_(lower_convolutions(lower_complex(tracing::ordered_effects(std::move(graph)), target), target)) {
  graph_ = multiply_product_sums(graph_);
  if (!target.gpu) graph_ = mark_short_products(exact_products(graph_));
}

Program::Program(Graph graph) : graph_(std::move(graph)) {}

const Graph& Program::simple() const {
  if (!simple_) simple_ = simplify(graph_);
  return *simple_;
}

Graph Program::light() const { return simplify(graph_, Builder::Level::light); }

Graph Program::with_subkeys(int64_t chunks) const { return simplify(use_subkeys(graph_, chunks)); }

}  // namespace neap::planner
