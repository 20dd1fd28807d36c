// How many partial results a reduction or scatter keeps: fixed by shape and budget, never by threads, so that the bits
// of a result do not depend on the machine. Tested in tests/planner/partials_test.cpp.
#pragma once

#include <vector>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Sets partials, form and table_dtype of a reduce or scatter step. `table_budget`: the most that tables may take.
void choose_partials(PlanStep& step, size_t table_budget, const Target& target = {});

/// The most that tables may take in a plan whose arguments and outputs take so much.
size_t table_budget(size_t held_bytes);

/// A scatter of fewer rows adds them up one after the other, and so does one that has no room for its tables or that
/// is marked Mark::in_order.
inline constexpr int64_t kDirectRows = 65536;

/// Results that keep vectors and all threads busy: a reduction to so many and more has no partial results.
inline constexpr int64_t kManyRows = 64;

/// What a reduction of elements of a dtype is kept in until it is done.
DType accumulator_of(tracing::Op op, DType element);

/// How a scatter's tables lie.
struct ScatterTables {
  DType dtype = DType::f32;
  int64_t in_scratch = 0;
  bool first_in_output = false;  // partial 0; the others lie in scratch
};
ScatterTables tables_of(const PlanStep& step);

/// The results of the reduction of which this one is a slice, or itself.
int64_t whole_rows(const tracing::Graph& graph, const tracing::Node& reduction);

/// The scratch that a step needs, as backends/ lower it: accumulators, tables or packing space.
std::vector<Aval> scratch_of(const PlanStep& step, const Target& target = {});

}  // namespace neap::planner
