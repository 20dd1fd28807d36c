// The cost model (planner/kernels/cost.h) predicts how long steps and plans take. Tested in
// tests/planner/predict_test.cpp; neap-cost (bench/cost/) compares it with the clock.
#pragma once

#include <vector>

#include "planner/kernels/traffic.h"
#include "planner/plan/plan.h"

namespace neap::planner {

/// Predicts the seconds of each step of a plan on predicted::kThreads threads, in their order: what was touched a short
/// while ago lies in a cache. The plan holds no more than `held` bytes; it is the body of `loop`, if that is not null.
std::vector<double> predict_steps(const PlanData& plan, size_t held, const tracing::CountedLoop* loop = nullptr);
/// Predicts the seconds that messages of a collective take; 0 of other steps.
double message_seconds(const PlanStep& step);
/// Predicts the seconds that the results of a plan take to leave its arena after a run, where they lie in it: their
/// pages are moved, and others in their place (core/buffer.h). predicted_seconds is without.
double move_seconds(const PlanData& plan);
/// Predicts the seconds of a plan on a machine that is not that of the constants.
double predict_on(const predicted::Machine& machine, const PlanData& plan);

/// Sets predicted_seconds of a plan whose steps are known.
void predict(PlanData& plan, size_t held);
/// Does the same for the body of a loop, which is placed.
void predict_body(PlanData& body, const tracing::CountedLoop& loop);

}  // namespace neap::planner
