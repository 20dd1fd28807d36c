// Every sort and argsort takes the form that backends implement (planner/kernels/sort.h). Tested in
// tests/planner/sort_test.cpp.
#pragma once

#include "planner/rewrite/builder.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// This rule makes a sort or argsort that is not canonical transposes and a canonical one, and that of rows of one
/// element the operand or zeros. It returns no_value for other terms.
tracing::ValueId lower_sort(Builder& b, const Term& term);

/// Where a value's argsort is there too, as in a derivative, its sort becomes a gather by that order: one sort runs,
/// and the sorted values need not be stored.
tracing::Graph share_sorts(tracing::Graph graph);

/// Canonical sorts of which only few ranks are read, by slices, perhaps transposed, give those alone (Attr::start and
/// Attr::limit): top_k, medians. For targets that select.
tracing::Graph select_ranks(tracing::Graph graph);

}  // namespace neap::planner
