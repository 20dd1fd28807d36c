// A dense factorization is one opaque step of a plan, whose work space (core/factor/factor.h) is its scratch. Tested in
// tests/planner/factor_test.cpp.
#pragma once

#include "core/factor/factor.h"
#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Returns the form of a node of family factor.
factor::Form factor_form(const tracing::Graph& graph, const tracing::Node& node);
/// Counts what a factorization or a step of the host holds and copies on the host of a GPU: its operands, its result
/// and its work space, one behind the other. Where the host works in place, the counts are 0 and the work space is
/// scratch like a CPU's.
HostWork host_work(const tracing::Graph& graph, const tracing::Node& node, const Target& target);

}  // namespace neap::planner
