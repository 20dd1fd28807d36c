// Every dot_general takes the form that backends implement (planner/kernels/dot.h). Tested in
// tests/planner/dot_test.cpp.
#pragma once

#include "planner/plan/plan.h"
#include "planner/rewrite/builder.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// This rule makes a dot_general that is not canonical reshapes, transposes and a canonical one (halves in f32, rounded
/// at the end). Products of integers, and those with m, n or k of 1, become multiply and reduce_sum, which fuse; one
/// matrix of few elements and terms becomes multiply and fma. It returns no_value for other terms.
tracing::ValueId lower_dot(Builder& b, const Term& term);

/// Marks products with vectors, of f32 or halves and up to kLongDot terms, as short, so that lower_dot leaves their
/// sums in f32 (planner/kernels/dot.h). For processors: GPUs add up many terms of few sums at once.
tracing::Graph mark_short_products(tracing::Graph graph);

/// Under Target::half_products, a canonical product whose f16 operands were widened for it, and which is only read
/// rounded to f16, takes the operands as they are and gives halves: the same exact products and f32 sums, rounded once.
/// Under Target::bf16_products so does one of bf16. Products with fewer than 16 rows, columns or terms stay as they
/// are.
tracing::Graph narrow_dots(const tracing::Graph& graph, const Target& target);

/// Lets canonical products in f32 read operands that were widened from f16, bf16, i8 or u8 as they were: they are
/// converted as they are packed, and never stored wide for the product's sake. No bit changes. For targets that pack.
tracing::Graph read_narrow(const tracing::Graph& graph);

/// Makes products of matrices of i8 or u8 that were widened to 32 bits in f32, where that holds every sum of their
/// terms exactly (up to 1024 of i8, 258 of u8): the same integers, in as many bytes. For targets that pack.
tracing::Graph exact_products(const tracing::Graph& graph);

/// Computes a canonical product that is only read transposed as the transposed one, by (a b)^T = b^T a^T.
tracing::Graph transpose_dots(tracing::Graph graph);

}  // namespace neap::planner
