// Where the operands and results of a loop lie that becomes one kernel (scalar_loop.h, column_loop.h), in buffers of
// its body.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "backends/cpu/program.h"
#include "planner/plan/plan.h"

namespace neap::cpu {

struct LoopPlaces {
  std::set<int> slices;                      // of operands
  std::set<int> fixed;                       // what all iterations share, carries included
  std::vector<std::pair<int, int>> carries;  // what the next iteration finds in which other
  std::set<int> carried;                     // those others

  /// Returns nullopt where the next iteration finds what this one does not make, or something of another size.
  static std::optional<LoopPlaces> of(const ScanCode& scan, const planner::PlanData& body);
};

}  // namespace neap::cpu
