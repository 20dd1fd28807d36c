// Reverse mode: linearise, then transpose. Tested in tests/autodiff/.
#pragma once

#include <source_location>
#include <vector>

#include "autodiff/linear.h"

namespace neap::autodiff {

/// Returns the pullback of a linearised graph. Its inputs are residuals, then a cotangent for each output of a floating
/// dtype; its outputs are the cotangent of each active input (zeros where no output depends on it).
Graph pullback(const Graph& g, const std::vector<bool>& active, const Linearized& linearized);

/// Returns the graph of values and cotangents. Its inputs are g's, then a cotangent for each output of a floating
/// dtype; its outputs are g's, then the cotangent of each active input.
Graph vjp(const Graph& g, const std::vector<bool>& active);

/// Returns the graph of the gradient. Its inputs are g's; its outputs are the one output of g (with_value), then its
/// gradient in each input of `wrt`. Throws ShapeError unless g has one scalar output, DTypeError unless it is floating
/// (holomorphic: complex). `op` and `loc` name the caller's call.
Graph grad(const Graph& g, const std::vector<size_t>& wrt, bool with_value, bool holomorphic = false,
           std::string_view op = "grad", std::source_location loc = std::source_location::current());

}  // namespace neap::autodiff
