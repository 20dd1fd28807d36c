// Backends implement one form of matrix product, and every dot_general becomes it (planner/rewrite/lower_dot.h).
//
// Canonical: lhs [batch, m, k] or [batch, k, m], rhs [batch, k, n] or [batch, n, k], both row-major f32 or f64, axis 0
// the batch, one contracted axis; output [batch, m, n]. For targets that multiply halves (narrow_dots) all three may be
// f16 or all bf16, the sums f32. With an attribute dtype, which is f32, either operand may be f16, bf16, i8 or u8: the
// CPU converts it as it packs it. Products of such integers in 32 bits are made so where every sum is exact in f32. A
// third operand is what the products are added to.
//
// An element of an f32 or f64 product is one chain: the third operand's element, or 0, then fma(lhs, rhs, sum) for k
// from 0 up. So the bits do not change when a product is cut along any of its axes, k included, where each part adds to
// what those before it made. Where k is more than kLongDot the CPU begins a chain at 0 for every kDotBlock terms, so
// that roundings do not pile up, and adds the chains one after the other; parts are then whole blocks. In
// products that are of bf16 in the program (Mark::of_bf16) subnormal numbers, below 2^-126 in size, may count as zeros,
// as they do in processors' own instructions for such products: on x86-64 they do. Where the processor has tiles
// (AMX), a chain of such a product of 32 terms and more goes by 32 terms: of these, those with even and those with odd
// numbers are chains of their own from 0 on, whose sum is added. So parts are multiples of 32 terms.
//
// Where m or n is 1 it is a reduction of products instead, in that one's order and in f64. But a processor adds up
// products in f32 of up to kLongDot terms (Mark::short_product) in f32: of a vector and a matrix [k, n] in order, as
// above; of a matrix [m, k] and a vector term i to partial sum i modulo 16, and where such a one is cut along k, as
// other reductions are. Tested in tests/planner/dot_test.cpp and tests/backends/cpu_gemm_test.cpp.
#pragma once

#include "planner/kernels/dot_form.h"
#include "trace/graph/graph.h"

namespace neap::planner {

bool is_canonical_dot(const tracing::Graph& graph, const tracing::Node& node);
/// Returns the form of a canonical dot_general node.
DotForm dot_form(const tracing::Graph& graph, const tracing::Node& node);

/// Throws UserError for a canonical dot_general with an extent of 2^31 or more, which GPUs do not multiply.
void check_gpu_dot(const tracing::Graph& graph, const tracing::Node& node);

}  // namespace neap::planner
