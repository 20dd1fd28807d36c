// Dense factorizations in a plan: one opaque step each, whose work space (core/factor.h) is its scratch.
// tests/planner/factor_test.cpp.
#pragma once

#include "core/factor.h"
#include "trace/graph.h"

namespace neap::planner {

/// Of a node of family factor.
factor::Form factor_form(const tracing::Graph& graph, const tracing::Node& node);
/// UserError: there is none on a GPU.
[[noreturn]] void check_gpu_factor(const tracing::Node& node);

}  // namespace neap::planner
