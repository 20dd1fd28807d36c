// Dense factorizations in a plan: one opaque step each, whose work space (core/factor/factor.h) is its scratch.
// tests/planner/factor_test.cpp.
#pragma once

#include "core/factor/factor.h"
#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Of a node of family factor.
factor::Form factor_form(const tracing::Graph& graph, const tracing::Node& node);
/// What the factorization holds and copies on the host of a GPU: its operands, its result and its work space, one
/// behind the other. Where the host works in place, the work space is scratch like a CPU's.
HostWork host_work(const tracing::Graph& graph, const tracing::Node& node, const Target& target);

}  // namespace neap::planner
