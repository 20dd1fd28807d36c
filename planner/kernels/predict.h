// The cost model (planner/kernels/cost.h) predicts how long steps and plans take. Tested in
// tests/planner/plan_test.cpp; neap-cost (bench/cost/) compares it with the clock.
#pragma once

#include <vector>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Predicts the seconds of a step on predicted::kThreads threads. `share` says, for each buffer, what a byte costs
/// beside one in memory (1); empty means 1 for all.
double predict_seconds(const PlanStep& step, const std::vector<double>& share = {});

/// Sets predicted_seconds of a plan whose steps are known.
void predict(PlanData& plan);

/// Does the same for a loop's body that is placed: what lies in a small arena is in the caches when the next step reads
/// it.
void predict_body(PlanData& body);

}  // namespace neap::planner
