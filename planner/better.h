// Which of two plans a program gets where no budget decides: what a byte is worth in time. Tested in
// tests/planner/better_test.cpp.
#pragma once

#include <cstddef>

#include "planner/plan.h"

namespace neap::planner {

/// What plans are compared by.
struct Price {
  size_t peak_bytes = 0;
  double seconds = 0;  // predicted
};
inline Price price_of(const PlanData& plan) { return {plan.peak_bytes, plan.predicted_seconds}; }

/// Whether a plan is preferred to another: the faster one is; of two that take as long within 3 %, the smaller one. A
/// plan smaller by a third may take 10 % longer, one smaller than a tenth 30 %.
bool better(Price plan, Price than);

/// Whether a plan holds more than it may beside the naive pipeline's: a sixteenth more, or a quarter where naive takes
/// 1.3 x as long.
bool exceeds_naive(Price plan, Price naive);

}  // namespace neap::planner
