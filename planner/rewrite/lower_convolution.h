// Convolutions take the form that backends implement (planner/kernels/convolution.h), or become products. Tested in
// tests/planner/convolution_test.cpp.
#pragma once

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns the graph with its convolutions, those in loops and branches included, as the target takes them.
///
/// Where it packs operands, one of floats over up to three axes of space is a step of its own. Halves are convolved in
/// f32 and rounded once. Elsewhere (a GPU, integers) it is a sum of products, one for each place of the window, or a
/// product for each place of the result, whichever are fewer; with a long window along one axis and few features, one
/// sum over the windows.
///
/// Zeros between the operand's elements (the cotangent of a strided convolution has them) are not multiplied: every so
/// many results read the same places of the window, so those are a convolution without such zeros, and their results
/// are put side by side.
tracing::Graph lower_convolutions(tracing::Graph graph, const Target& target);

}  // namespace neap::planner
