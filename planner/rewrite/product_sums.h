// Sums of products of two arrays, each spread along axes that the other has, are products of matrices: what NumPy's
// users write as sum(x[:, :, None] * y[None], axis=1). As such they are blocked. Tested in
// tests/planner/product_sums_test.cpp.
#pragma once

#include "trace/graph/graph.h"

namespace neap::planner {

/// Gives the graph with its large sums of f32 or f64 of this kind as dot_general, those in bodies too. Its terms are
/// added up as those of any product are (planner/kernels/dot.h): of f32 in f32, not in f64 as a sum's are.
tracing::Graph multiply_product_sums(const tracing::Graph& graph);

}  // namespace neap::planner
