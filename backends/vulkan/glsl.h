// A kernel of the kernel IR (backends/kernel.h) as a GLSL compute shader.
//
// Operands come by address: the push constants hold the address of a table of addresses and where in it the launch's
// begin, the address of operand i being entry `first + i`; both are constants of the recorded command, so that one
// pipeline serves every plan that has the same kernel. All address arithmetic is in 64-bit integers.
//
// Arithmetic is that of scalar.h: `precise` keeps a * b + c apart; integers wrap; conversions saturate.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/kernel.h"
#include "backends/vulkan/features.h"
#include "planner/kernels/cumulative_form.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/sort.h"

namespace neap::vk {

/// Push holds the push constants of every kernel. Entry `first + i` of the table is the address of operand i of the
/// launch.
struct Push {
  uint64_t table = 0;
  uint32_t first = 0;
  uint32_t count = 0;  // records of a bind kernel; the pass of a sort; else which of Shader::dispatches this is
};

/// View is an operand that a shader reads, or reads and writes, through a texel buffer.
struct View {
  int operand = 0;
  int words = 1;  // of a texel, 32 bits each: 1, 2 or 4
  bool written = false;
};

/// Viewable says what a launch may do with an operand through texel buffers: nothing where `bytes` is 0; else read it,
/// or, when it is `written`, read and write it.
struct Viewable {
  uint64_t bytes = 0;
  bool written = false;
};

/// Shader is the text of a shader and how to dispatch it.
struct Shader {
  std::string glsl;
  uint32_t local_size = 1;                  // invocations of a workgroup (along x)
  std::array<uint32_t, 3> groups{1, 1, 1};  // workgroups; none of them 0
  uint32_t dispatches = 1;                  // as often, one after the other, with Push::count 0, 1, ...
  bool full_subgroups = false;              // asks for Choices::subgroup, where there is size control
  // Invocations whose results are combined with each other, in an order that depends on their number.
  uint32_t combining = 1;
  // Of all loops together, those of functions included, in an invocation: no more than this. Compare-and-exchange is
  // not in it.
  uint64_t iterations = 1;
  std::vector<View> views;  // binding i of descriptor set 0

  /// Parts is what a shader is made of, when it can become a stage of another.
  struct Parts {
    std::vector<std::string> extensions;
    std::vector<scalar::Function> functions;                       // of libm.h
    std::vector<std::pair<std::string, std::string>> definitions;  // name and text, in order
    std::string main;
    bool exchanges = false;  // compares and exchanges until nobody came between: such turns are in no `iterations`
  };
  std::shared_ptr<const Parts> parts;
};

/// Returns the shader of a launch, whose workgroups share all its partials. Its operands are launch.operands in this
/// order, then, when launch.part0_operand >= 0, that operand once more: the table of part 0. The caller skips a map or
/// scatter with an extent of 0, which needs no workgroups. `viewable` is by operand; when it is empty, all operands go
/// by address. Throws UserError that names the dtype and the feature when the device lacks one that the kernel needs.
Shader emit(const backends::Launch& launch, const Choices& choices, std::span<const Viewable> viewable = {});

/// Returns the canonical matrix product (planner/kernels/dot.h); its operands are lhs, rhs and out.
Shader matmul_shader(const planner::DotForm& form, const Choices& choices);

/// OpaqueDispatch is one of the dispatches of a sort (planner/kernels/sort.h) or of a cumulative op, which run one
/// after the other. Its operands are numbers in the list of the step's operand, its result and its scratch.
struct OpaqueDispatch {
  Shader shader;
  std::vector<int> operands, writes;
  uint32_t number = 0;  // Push::count
};
std::vector<OpaqueDispatch> sort_dispatches(const planner::SortForm& form, const Choices& choices);
std::vector<OpaqueDispatch> cumulative_dispatches(const planner::CumulativeForm& form, const Choices& choices);

/// Returns a shader that fills `bytes` (any number) of operand 0, and touches nothing behind them.
Shader fill_shader(uint64_t bytes, const Choices& choices, uint8_t value = 0);
/// Returns a shader that copies `bytes` (any number) from operand 0 to operand 1, and touches nothing behind them. Both
/// may begin at any address, as slices of narrow elements do.
Shader copy_shader(uint64_t bytes, const Choices& choices);

/// Stage is a kernel that needs one workgroup, as a part of a loop's body.
struct Stage {
  Shader shader;
  uint32_t first = 0, turn = 0;  // its Push::first, relative to that of the loop; its Push::count
  bool barrier = false;          // before it
};
/// Returns a shader that runs the stages one after the other, Push::count times over, all in one workgroup of
/// choices.workgroup invocations. `condition` is the entry (relative to Push::first) of a bool's address; the shader
/// ends before an iteration where the bool is false.
Shader loop_shader(std::span<const Stage> stages, const Choices& choices, std::optional<uint32_t> condition = {});

/// BindRecord is what a bind kernel does, table[to] = table[from] + add, for each of Push::count records. They lie one
/// behind the other at the address that operand 0 (entry Push::first) holds.
struct BindRecord {
  uint32_t to = 0, from = 0;
  int64_t add = 0;
};
Shader bind_shader(const Choices& choices);

}  // namespace neap::vk
