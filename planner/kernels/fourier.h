// A CPU runs Fourier transforms along any axis as one step each, in place where pairs become pairs. Their lengths are
// products of primes up to kMostRadix; others are lowered to those (planner/rewrite/complex_fft.cpp), and on a GPU to
// products of matrices. Slices of the other axes, and vmap, change no bit. Tested in tests/planner/fourier_test.cpp.
#pragma once

#include "planner/kernels/fourier_form.h"
#include "trace/graph/graph.h"

namespace neap::planner {

FourierForm fourier_form(const tracing::Graph& graph, const tracing::Node& node);

}  // namespace neap::planner
