// Where a plan holds too much, what its steps would compute in registers is stored instead: a value that is computed
// where it is read keeps all that it is made of alive until then. Only what is made of values alive at the steps that
// hold too much is stored; the rest of the program stays fused. Tested in tests/planner/materialize_test.cpp.
#pragma once

#include <cstddef>
#include <optional>

#include "planner/steps.h"

namespace neap::planner {

/// The plan, with so much more stored that it holds at most `limit` bytes, or as few as this brings it to; nullopt
/// where that is no less.
std::optional<Planned> materialize(const Planned& planned, size_t limit, const PlanOptions& options);

}  // namespace neap::planner
