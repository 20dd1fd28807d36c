// Which of two plans a program gets where no budget decides: what a byte is worth in time. Tested in
// tests/planner/better_test.cpp.
#pragma once

#include <cstddef>

#include "planner/plan/plan.h"

namespace neap::planner {

/// What plans are compared by.
struct Price {
  size_t peak_bytes = 0;
  double seconds = 0;  // predicted
};
inline Price price_of(const PlanData& plan) { return {plan.peak_bytes, plan.predicted_seconds}; }
/// The same of what is held for the program's sake: holes that a device's alignment leaves are not.
Price price_of(const PlanData& plan, const Target& target);

/// Whether a plan is preferred to another: the faster one is; of two that take as long within 3 %, the smaller one. A
/// plan smaller by a third may take 10 % longer, one smaller than a tenth 30 %.
bool better(Price plan, Price than);

/// What a plan may hold beside the naive pipeline's: a sixteenth more, or a quarter where naive takes 1.3 x as long; a
/// page more in any case.
size_t most_beside_naive(double seconds, Price naive);

/// Whether a plan holds more than that.
bool exceeds_naive(Price plan, Price naive);

}  // namespace neap::planner
