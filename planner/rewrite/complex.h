// Complex numbers become pairs of real ones before anything is planned, so that nothing below knows complex dtypes.
//
// A complex input or output of the program stays one buffer of interleaved parts, seen as [..., 2] of the real dtype;
// in between, and in the bodies of loops and branches, each part is a value of its own. Elementwise functions are in
// complex_math.cpp, Fourier transforms in complex_fft.cpp. Tested in tests/jit/complex_test.cpp and fft_test.cpp.
#pragma once

#include <span>

#include "planner/plan/plan.h"
#include "trace/graph/graph.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {

/// Returns a graph that computes the same with real numbers only: the graph itself where it has no others. A CPU
/// transforms by steps of its own (planner/kernels/fourier.h), a GPU by products.
tracing::Graph lower_complex(tracing::Graph graph, const Target& target);

/// Stands for a value while a graph is lowered; where the value is real, `im` is empty.
struct Parts {
  Array re, im;
  bool is_complex() const { return im.impl() != nullptr; }
};

/// Computes an elementwise op on complex operands.
Parts lower_elementwise(tracing::Op op, std::span<const Parts> in);
/// Says what is known of an Op::fft.
struct FftUse {
  bool reverse = false;
  bool by_steps = false;  // lengths that a step takes are one
  bool of_reals = false;  // its operand has no imaginary parts
  bool to_reals = false;  // nobody reads the imaginary parts of its result; then there may be none
};
/// Computes Op::fft along an axis: the transform without a scale factor.
Parts lower_fft(const Parts& x, int64_t axis, const FftUse& use);

/// Applies the same function to both parts.
template <class F>
Parts each_part(const Parts& x, const F& f) {
  return {f(x.re), f(x.im)};
}
Parts multiply(const Parts& x, const Parts& y);

/// Complex numbers in memory: pairs along a new last axis.
Parts taken_apart(const Array& pairs);
Array interleaved(const Parts& x);

}  // namespace neap::planner
