// The rule that says what a node of family factor computes, for core/factor/factor.h.
#pragma once

#include <span>

#include "core/factor/factor.h"
#include "trace/graph/graph.h"

namespace neap::tracing {

/// Returns the form of an op of family factor on operands of these avals, which fit.
factor::Form factor_form(Op op, std::span<const Aval> operands, const Attrs& attrs);

}  // namespace neap::tracing
