// The memory of a plan's buffers during one run: the arena, outputs, and where the host computes.
//
// An executable replays the same commands in each run, but its buffers lie elsewhere each time. What has memory when,
// what an address leads to, and what becomes of it all after the last submission is said here, apart from the order of
// submissions (executor.cpp). Tested in tests/vulkan/arena_test.cpp, tests/vulkan/jit_test.cpp and
// tests/vulkan/faults_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/vulkan/device.h"
#include "backends/vulkan/recording.h"
#include "backends/vulkan/residence.h"
#include "planner/plan/plan.h"

namespace neap::vk {

/// Roles are what the buffers of a plan are to its caller.
struct Roles {
  explicit Roles(const planner::PlanData& plan);
  std::vector<int> input_of;    // the plan input that a buffer is, or -1
  std::vector<bool> is_output;  // of roots
};

/// RunMemory serves one run. Functions that allocate throw OutOfMemoryError; abandon() comes after any failure.
class RunMemory {
 public:
  /// All arguments live longer.
  RunMemory(const planner::PlanData& plan, const Roles& roles, Device& device, Store& store);

  /// Waits for submissions that alone keep memory alive, and takes the arena of an earlier run where one of its size is
  /// kept.
  void make_room();
  /// Brings the inputs to the device and allocates what the whole run holds.
  void take(const std::vector<BufferPtr>& inputs);

  // The next three serve naive plans, where every buffer has memory of its own from its first step to its last.
  /// Allocates the outputs that no step makes.
  void own_untouched_outputs();
  /// Allocates what is first needed by a step.
  void begin(int step);
  /// Frees what a step was the last to need, outputs apart.
  void end(int step);

  /// Returns whether a buffer has memory of its own now, outside the arena.
  bool owns(int buffer) const { return buffers_[buffer] != nullptr; }
  /// Returns where a root begins; 0 for one without memory.
  uint64_t address(int buffer) const;
  /// Returns the bytes at an address in what the run holds; InternalError elsewhere.
  Range range(uint64_t address, uint64_t bytes) const;
  /// Returns where the viewed buffers are, or none when one of them lies where a view cannot begin.
  std::optional<std::vector<Place>> places(const std::vector<int>& viewed) const;
  /// Returns where the host computes; null when it works on the arrays in place.
  std::byte* host() const { return host_ ? host_->data() : nullptr; }

  /// Returns the outputs of the run, whose last submission is `ticket`, and resets the inputs that were donated.
  /// What the device still uses is kept until it has finished.
  std::vector<BufferPtr> results(std::vector<BufferPtr>& inputs, Ticket ticket);
  /// Lets go of everything after a failure. The arena may be that of an earlier run, and a part of this one may
  /// have been submitted.
  void abandon();

 private:
  int root(int b) const { return plan_.root(b); }
  int count() const { return static_cast<int>(plan_.buffers.size()); }
  bool whole() const { return !plan_.naive && plan_.arena_blocks.empty(); }
  bool is_donated(int b) const;
  bool is_own(int b) const { return root(b) == b && roles_.input_of[b] < 0; }
  bool lives_by_step(int b) const;
  void own(int b);
  void own_outputs();
  std::pair<size_t, size_t> place_of(int64_t offset) const;
  bool carve_outputs(Ticket ticket);
  void keep(Ticket ticket);

  const planner::PlanData& plan_;
  const Roles& roles_;
  Device& device_;
  Store& store_;
  std::vector<BufferPtr> buffers_;  // of each root; null while it has no memory of its own
  BufferPtr arena_;
  std::vector<BufferPtr> blocks_;  // of an arena of several allocations
  BufferPtr host_;
};

}  // namespace neap::vk
