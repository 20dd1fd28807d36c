// Where the addresses of operands come from: the entries of a program's table (program.h), handed out one by one.
//
// Steps, loops and conditions all take entries. Who writes an entry depends on where it is used: the host those of the
// outermost plan, bind dispatches those of a loop's body. This file alone decides that. Tested in
// tests/vulkan/loop_test.cpp and tests/vulkan/control_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/vulkan/hazards.h"
#include "backends/vulkan/program.h"
#include "planner/plan/plan.h"

namespace neap::vk {

/// Origin says where the address of a body's buffer comes from when its loop begins.
struct Origin {
  uint32_t home = 0;   // outside the loop
  int64_t add = 0;     // bytes
  int64_t stride = 0;  // bytes to move on after each iteration
};

/// Scope is one plan while it is lowered, the outermost or the body of a loop, with the homes of its buffers.
struct Scope {
  explicit Scope(const planner::PlanData& of) : plan(of), hazards(of) {}
  const planner::PlanData& plan;
  Hazards hazards;
  std::vector<uint32_t> homes;         // of roots
  std::vector<Origin> origins;         // of roots, in a loop
  std::vector<BindRecord> bind, move;  // in a loop
  bool is_loop = false;

  int root(int b) const { return plan.root(b); }
  bool is_output(int b) const;
  int64_t shift(int b) const { return plan.shift(b); }
  uint64_t bytes(int b) const { return plan.buffers[b].aval.bytes(); }
};

/// Addresses hands out the entries of a program.
class Addresses {
 public:
  /// `program` gets the entries, and lives longer.
  explicit Addresses(Program& program) : program_(program) {}

  /// Gives the buffers of the outermost plan homes, which the host writes.
  Scope outermost(const planner::PlanData& plan);
  /// Gives the buffers of a body homes. When the caller has set their origins, bind_homes() adds the records by which
  /// the device writes them.
  Scope body(const planner::PlanData& plan);
  static void bind_homes(Scope& body);

  /// Returns the entry that is handed out next.
  uint32_t next() const { return program_.num_entries; }
  /// Makes the operand list of a dispatch and returns its first entry.
  uint32_t operands(Scope& scope, const std::vector<int>& buffers);

  /// Flag is one of Program::num_flags; the operand list of the copy to it begins at entry `first`.
  struct Flag {
    int number = 0;
    uint32_t first = 0;
  };
  /// Adds a flag, and the operand list of a copy from the buffer `condition`.
  Flag flag(Scope& scope, int condition);
  /// Adds records to the program and returns the entry that holds their address.
  uint32_t records(const std::vector<BindRecord>& records);

 private:
  uint32_t entry() { return program_.num_entries++; }
  Scope with_homes(const planner::PlanData& plan);

  Program& program_;
};

}  // namespace neap::vk
