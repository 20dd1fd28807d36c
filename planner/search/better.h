// Which of two plans a program gets where no budget decides: what a byte is worth in time. This is the one place that
// says so; a candidate (planner/search/candidates.h) names the policy by which it is compared. Tested in
// tests/planner/better_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/plan/plan.h"

namespace neap::planner {

/// What plans are compared by.
struct Price {
  size_t peak_bytes = 0;
  double seconds = 0;  // predicted
};
/// Gives the price of a plan.
inline Price price_of(const PlanData& plan) { return {plan.peak_bytes, plan.predicted_seconds}; }
/// Gives the price of a plan by what is held for the program's sake: the holes that a device's alignment leaves are
/// not.
Price price_of(const PlanData& plan, const Target& target);

/// How a plan is compared with the one that a program has so far.
enum class Policy : uint8_t {
  any,             // the faster is better; of two within 3 % the smaller; one smaller by a third may take 10 % longer,
                   // one of a tenth 35 %
  no_worse,        // neither grows, and the bytes fall, or the time by 1 %: the same work in another layout
  fewer_bytes,     // what holds less moves less: less is copied
  rematerialized,  // saves 5 % of the peak or more; may take 30 % longer for all of the peak, half of that for half
  sliced,          // saves a third of the peak or more; may take 3 % longer for all of the peak, half of that for half
  lowered,         // saves 5 % of the peak or more; may take 25 % longer for all of the peak, half of that for half
};

/// What a policy asks of a plan that holds less than another.
struct Terms {
  double least_saved;  // part of the other's peak
  double longer;       // part of the other's time, for all of its peak; in proportion for less
};
inline constexpr Terms kRematerialized{0.05, 0.3};
inline constexpr Terms kSliced{1.0 / 3, 0.03};
inline constexpr Terms kLowered{0.05, 0.25};

/// What slices that split sums of floats, whose last bit may differ then (docs/how-it-works.md), save of the peak at
/// least where no budget asks for them.
inline constexpr double kSavedBySums = 0.75;
/// A slice with less of the large values keeps no core busy: none asks for it but a budget.
inline constexpr double kSliceBytes = 1 << 20;

/// Whether a plan holds less than another by this part of what the other holds, or more.
bool saves(Price plan, Price than, double part);

/// Whether a plan is preferred to another.
bool better(Price plan, Price than, Policy policy = Policy::any);

/// What a plan may hold beside the naive pipeline's: a sixteenth more, or a quarter where naive takes 1.3 x as long; a
/// page more in any case.
size_t most_beside_naive(double seconds, Price naive);

/// Whether a plan holds more than that.
bool exceeds_naive(Price plan, Price naive);

}  // namespace neap::planner
