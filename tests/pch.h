// Precompiled for every test program.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/pch.h"
#include "trace/graph/op_table.h"

// Parameters of tests by name: CTest names tests after them.
namespace neap {
inline void PrintTo(DType dtype, std::ostream* out) { *out << name(dtype); }
namespace tracing {
inline void PrintTo(Op op, std::ostream* out) { *out << name(op); }
}  // namespace tracing
}  // namespace neap
