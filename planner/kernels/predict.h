// What the cost model (planner/kernels/cost.h) says that steps and plans take. Tested in tests/planner/plan_test.cpp;
// bench/cost/ holds it against the clock.
#pragma once

#include <vector>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Predicted seconds of a step on predicted::kThreads threads. `share`: what a byte of each buffer costs, of one in
/// memory; empty: all of it.
double predict_seconds(const PlanStep& step, const std::vector<double>& share = {});

/// Sets predicted_seconds of a plan whose steps are known.
void predict(PlanData& plan);

/// The same of a body that is placed: what lies in a small arena is in the caches when the next step reads it.
void predict_body(PlanData& body);

}  // namespace neap::planner
