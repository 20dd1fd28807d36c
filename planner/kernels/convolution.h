// Backends that multiply packed operands implement convolutions as one step: of f32 or f64, over up to three axes of
// space, with no zeros between elements. planner/rewrite/lower_convolution.h says what others become.
//
// An element of the result is one chain: the third operand's element, or 0, then fma(operand, window, sum) for features
// from 0 up, and for each the places of the window in order. Where there are more than kLongDot terms, a chain begins
// at 0 for each block of them (ConvolutionForm::block_features whole features, or parts of one) and the chains are
// added one after the other. So the bits do not change when a convolution is cut along its groups, examples or features
// of the result, nor along the features that are added up, where parts are whole blocks and each adds to what those
// before it made. Padding counts as zeros that are multiplied. Tested in tests/planner/convolution_test.cpp and
// tests/backends/cpu_convolution_test.cpp.
#pragma once

#include "planner/kernels/convolution_form.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns the form of a node of op convolution that is one step.
ConvolutionForm convolution_form(const tracing::Graph& graph, const tracing::Node& node);

}  // namespace neap::planner
