// Every sort and argsort in the form that backends implement (planner/kernels/sort.h). Tested in
// tests/planner/sort_test.cpp.
#pragma once

#include "planner/rewrite/builder.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// Rule: a sort that is not canonical, as transposes and a canonical one; of rows of one element, what that is.
/// no_value for others.
tracing::ValueId lower_sort(Builder& b, const Term& term);

/// Where a value's argsort is there too, as in a derivative, its sort only reads by it: one sort, and the sorted values
/// need not be stored.
tracing::Graph share_sorts(tracing::Graph graph);

}  // namespace neap::planner
