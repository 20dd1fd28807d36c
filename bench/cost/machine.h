// What the units of the cost model (planner/kernels/cost.h) take on the machine that this runs on: a few kernels of
// which it is known what holds them up, timed for some 100 milliseconds.
#pragma once

#include <neap/array.h>

#include <functional>

#include "planner/kernels/cost.h"

namespace bench {

/// Returns the seconds of a call, the fastest of many, after one that is not counted.
double fastest_call(const std::function<void()>& call);

/// A polynomial of degree 11: arithmetic, and little else where its operand lies in a cache.
neap::Array polynomial(const neap::Array& x);

/// Times arithmetic and keys in the first cache, and traffic in the caches that the system names and in memory.
neap::planner::predicted::Machine measure_machine();

}  // namespace bench
