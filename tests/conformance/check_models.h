// Programs at random of sizes at which they are planned, not run.
#pragma once

#include "tests/conformance/check_plans.h"
#include "tests/conformance/model_program.h"
#include "tests/conformance/pair_program.h"
#include "tests/conformance/random_program.h"

namespace neap::conformance {

inline void check_model(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  ModelProgram program(seed);
  try {
    program.make();
    SCOPED_TRACE(program.said);
    check_plans(program.graph, seed);
    if (seed % 64 == 5) check_planned_budgets(program.graph);
  } catch (const std::exception& e) {
    ADD_FAILURE() << program.said << ": " << e.what();
  }
}

/// Any ops, as those that are run, but on large arrays.
inline void check_large(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const bool failed_before = testing::Test::HasFailure();
  ProgramMaker maker(seed, /*for_users=*/false, /*large=*/true);
  try {
    maker.make();
    check_plans(maker.graph, seed);
    if (seed % 4 == 1) check_planned_budgets(maker.graph);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
  if (!failed_before && testing::Test::HasFailure()) ADD_FAILURE() << tracing::print(maker.graph);
}

/// An array that meets itself needs no more than two that meet.
inline void check_pair(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const PairProgram program(seed);
  const size_t two = least_peak_of(program.graph(false)), one = least_peak_of(program.graph(true));
  EXPECT_LE(one, two + two / 16) << program.said();
}

}  // namespace neap::conformance
