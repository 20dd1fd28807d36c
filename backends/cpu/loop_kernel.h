// What loops that become one kernel (scalar_loop.h, column_loop.h) have in common: where their operands and results
// lie, in buffers of the body, and the kernel that is made.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "backends/cpu/program.h"
#include "backends/kernel.h"
#include "planner/plan/plan.h"

namespace neap::cpu {

/// A loop in one kernel, and the body buffers that it is given; one that is carried is given where the loop's operand
/// for it lies, and one that is stacked the whole of what it is a slice of.
struct LoopKernel {
  backends::Kernel kernel;
  std::vector<int> buffers;
};

/// Tells whether the loop is counted and its body maps, of some launches each.
bool is_loop_of_maps(const ScanCode& scan);

class LoopKernelMaker {
 protected:
  LoopKernelMaker(const ScanCode& scan, const planner::PlanData& body) : scan_(scan), body_(body) {}

  /// Makes the index of this level the iteration.
  void iterate(int level);
  /// Finds where things lie. Returns false where the next iteration finds what this one does not make, or something of
  /// another size.
  bool find_places();
  /// Tells whether the launch writes elements of what it reads, and nothing else.
  static bool is_plain_map(const backends::Launch& launch, const LaunchCode& code);
  int root(int buffer) const { return scan_.body->root[static_cast<size_t>(buffer)]; }
  const Aval& aval(int buffer) const { return body_.buffers[static_cast<size_t>(buffer)].aval; }
  /// Returns the place in all slices of an element, by an i64, of this iteration's.
  scalar::X in_slice(int buffer, scalar::X index);
  int add_buffer(int buffer, DType type, bool written);
  LoopKernel made() { return {std::move(all_), std::move(buffers_)}; }

  const ScanCode& scan_;
  const planner::PlanData& body_;
  std::set<int> slices_;                      // of operands
  std::set<int> fixed_;                       // what all iterations share, carries included
  std::vector<std::pair<int, int>> carries_;  // what the next iteration finds in which other
  std::set<int> carried_;                     // those others
  backends::Kernel all_;

 private:
  std::vector<int> buffers_;
  scalar::X slice_;
};

}  // namespace neap::cpu
