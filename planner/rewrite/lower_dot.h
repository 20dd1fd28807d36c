// Every dot_general in the form that backends implement (planner/kernels/dot.h). Tested in tests/planner/dot_test.cpp.
#pragma once

#include "planner/rewrite/builder.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Rule: a dot_general that is not canonical, as reshapes, transposes and a canonical one (halves in f32, rounded at
/// the end). Integers, and floats where m, n or k is 1, become multiply and reduce_sum, which fuse. no_value for
/// others.
tracing::ValueId lower_dot(Builder& b, const Term& term);

/// Rule of Target::half_products: a canonical product of f16 operands that were widened for it, itself only rounded to
/// f16, takes the operands as they are and gives halves: the same exact products and f32 sums, rounded once. Not of
/// products with fewer than 16 rows, columns or terms.
tracing::Graph narrow_dots(const tracing::Graph& graph);

/// A product that is only read transposed is computed so: (a b)^T = b^T a^T, by swapping what is canonical already.
tracing::Graph transpose_dots(tracing::Graph graph);

}  // namespace neap::planner
