// A plan becomes an object file with one function of C, which needs neither Neap nor LLVM where it runs: kernels, and
// the code that runs steps one after the other on one thread, as run.cpp does. Products, sorts and factorizations are
// calls into a small library (backends/cpu/runtime). Tested in tests/jit/save_test.cpp, and as a backend that
// runs the conformance suite in tests/conformance/cpu_object_test.cpp.
#pragma once

#include <cstddef>

#include "backends/object.h"
#include "planner/plan/plan.h"

namespace neap::cpu {

/// Compiles a plan that was made with Target::carves off and is not naive. Throws UserError where the target or the
/// processor is unknown, and where the constants take more than kMostConstants.
backends::Object compile_object(const planner::PlanData& plan, const backends::ObjectRequest& request);

/// Bytes of captured arrays in an object file, at most: code reaches them by offsets of 32 bits.
inline constexpr size_t kMostConstants = size_t{1} << 30;

}  // namespace neap::cpu
