// How many partial results a reduction or scatter keeps is fixed by shape and budget, never by threads, so that the
// bits of a result do not depend on the machine. Tested in tests/planner/partials_test.cpp.
#pragma once

#include <vector>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Sets partials, and form, table_dtype and in_order of a scatter, of a reduce or scatter step. `table_budget` is the
/// most bytes that tables may take.
void choose_partials(PlanStep& step, size_t table_budget, const Target& target = {});

/// Returns the most bytes that a scatter's tables may take in a plan whose arguments and outputs take `held_bytes`.
size_t table_budget(size_t held_bytes);

/// A scatter of fewer rows adds them up one after the other, and so does one that has no room for its tables or that
/// is marked Mark::in_order. It decides bits; no measurement is recorded (neap-cost's "scatter" has both sides).
inline constexpr int64_t kDirectRows = 65536;

/// A reduction to so many results and more has no partial results: they keep vectors and all threads busy. (But down
/// columns, of which a thread takes many at once: partials.cpp.) It decides bits; no measurement is recorded
/// (neap-cost's "sum of rows" and "sum of columns" take the time).
inline constexpr int64_t kManyRows = 64;

/// Returns the dtype in which a reduction accumulates.
DType accumulator_of(const tracing::Graph& graph, const tracing::Node& reduction);

/// Tells whether the reduction is a short product (Mark::short_product) down columns, which is added up in order, so
/// that it may be cut into parts, each of which goes on where the one before it ended.
bool adds_in_order(const tracing::Graph& graph, const tracing::Node& reduction);

/// Says where a scatter's tables lie.
struct ScatterTables {
  DType dtype = DType::f32;
  int64_t in_scratch = 0;
  bool first_in_output = false;  // partial 0; the others lie in scratch
};
ScatterTables tables_of(const PlanStep& step);

/// Counts the results of the reduction; of one that is a slice, those of the whole (Attr::full_shape).
int64_t whole_rows(const tracing::Graph& graph, const tracing::Node& reduction);

/// Returns the scratch that a step needs as backends lower it: accumulators, tables, packing or work space, an arena.
std::vector<Aval> scratch_of(const PlanStep& step, const Target& target = {});

}  // namespace neap::planner
