// The cost model: a handful of constants measured once, used to choose and to predict, never to compute.
//
// The unit is one vector instruction's share of one element (an add of f32 is 1). Tested in
// tests/planner/fuse_test.cpp.
#pragma once

#include "trace/graph.h"

namespace neap::planner {

inline constexpr double kUnitsPerSecond = 48e9;   // of one core
inline constexpr double kWriteUnitsPerByte = 5;   // 9.5 GB/s
inline constexpr double kReadUnitsPerByte = 2.5;  // 20 GB/s
inline constexpr double kLaunchUnits = 1e5;       // 2 microseconds
inline constexpr double kLanes = 16;              // a scalar instruction costs what a vector one does

/// Cost of one output element of the node, its operands aside. Reductions and scatters: of one operand element.
double element_cost(const trace::Graph& graph, const trace::Node& node);

/// Whether kernels compute the op inside a loop, so that its value need not be stored.
bool is_fusible(trace::Op op);
/// Whether the op's output element at an index reads its operands at that index only.
bool reads_same_index(trace::Op op);

}  // namespace neap::planner
