// A plan as a device runs it: dispatches, barriers and loops, and where their operands' addresses come from.
//
// All operands come by address from one table (glsl.h). Its entries are of three kinds: the *home* of a buffer holds
// its address; the operand list of a dispatch holds the addresses of its operands one behind the other; an entry may
// also hold the address of a list of bind records. The host writes the top level's entries before each run. Those of a
// loop's body are written by the device: a bind dispatch before the loop sets them from the homes outside, one after
// each iteration moves on what walks through an array. So a loop of any length is the same commands again and again,
// and nothing is recorded anew between calls. A loop whose kernels need one workgroup each is a single shader, which
// runs many iterations in a dispatch (loop_shader). Where a condition decides whether a body runs, the device copies it
// to a flag that the host reads: such a loop ends one submission and begins another. So does what the host computes
// (host_step.h), which finds its operands' addresses in the table, wherever it stands; a loop around it is the host's.
//
// Programs are made in steps.h (of a plan's steps), loop.h and fused_loop.h, through assembly.h and addresses.h. Tested
// in tests/vulkan/loop_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/vulkan/device.h"
#include "backends/vulkan/host_step.h"
#include "planner/plan/plan.h"

namespace neap::vk {

/// PlanView is a view of `bytes` of a plan buffer, from `shift` on.
struct PlanView {
  View view;
  int buffer = 0;
  int64_t shift = 0;
  uint64_t bytes = 0;
};

struct Command {
  enum class Kind : uint8_t { dispatch, barrier, loop, step, host } kind = Kind::barrier;
  const Pipeline* pipeline = nullptr;  // dispatch
  std::array<uint32_t, 3> groups{1, 1, 1};
  uint32_t first = 0, count = 0;  // Push
  std::vector<PlanView> views;    // dispatch: those of the shader
  int kernel = -1;                // dispatch: its number while the program is made
  int step = 0;                   // step: the number of the plan's step that ends here
  int host = -1;                  // host: which of Program::host_steps; `first` and `count` are its operands
  int64_t times = 0;              // loop; with a flag, at most
  int flag = -1;                  // loop: that ends it where it is 0; read before the first iteration and after each
  std::vector<Command> body;
};

struct Program {
  static constexpr int kRecords = -1, kFlags = -2;
  static constexpr int64_t kFlagBytes = 64;
  /// Entry is an entry that the host writes: the address of a plan buffer, the records or the flags, plus `shift`.
  struct Entry {
    uint32_t entry = 0;
    int buffer = 0;
    int64_t shift = 0;
  };
  uint32_t num_entries = 0;
  std::vector<Entry> entries;
  std::vector<int> viewed;  // plan buffers with views, each once
  std::vector<BindRecord> records;
  int num_flags = 0;
  std::vector<HostStep> host_steps;
  std::vector<Command> commands;
};

/// Lowers and compiles all kernels of the plan, those of loop bodies included. Throws UserError when the device lacks a
/// dtype. `dump_name` is a file name stem for NEAP_DUMP, or empty. `views` says whether kernels may read large arrays
/// through texel buffers; then Program::viewed names the plan buffers for which Device::can_view() must hold where they
/// begin.
Program compile_program(const planner::PlanData& plan, Device& device, const std::string& dump_name, bool views);

}  // namespace neap::vk
