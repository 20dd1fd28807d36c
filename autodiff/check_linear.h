// Checks that the rule of a custom_jvp is linear in the tangents. Tested in tests/autodiff/custom_test.cpp.
#pragma once

#include <source_location>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::autodiff {

/// Throws UserError with the node's line unless each output is linear in the marked inputs. The graph alone is judged:
/// x - x is not known to be zero. Functions with rules of their own are trusted, and so are loops and branches, but for
/// whole numbers and bools that they make of these inputs.
void check_linear(const tracing::Graph& g, const std::vector<bool>& linear, std::source_location loc);

}  // namespace neap::autodiff
