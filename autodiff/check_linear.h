// Whether the rule of a custom_jvp is what it must be: linear in the tangents. tests/autodiff/custom_test.cpp.
#pragma once

#include <source_location>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::autodiff {

/// UserError with the node's line unless each output is linear in the marked inputs. Judged by the graph: x - x is not
/// known to be zero. Loops and functions with rules of their own are trusted.
void check_linear(const tracing::Graph& g, const std::vector<bool>& linear, std::source_location loc);

}  // namespace neap::autodiff
