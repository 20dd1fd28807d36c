// A loop of small kernels as one shader, which runs many iterations in a dispatch.
//
// A dispatch costs llvmpipe some 50 microseconds (README.md), more than the work of a small body. Where each kernel of
// the body fits one workgroup, all become stages of one shader (loop_shader in glsl.h), with barriers inside. Tested in
// tests/vulkan/loop_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/vulkan/assembly.h"

namespace neap::vk {

/// FusedLoop is a dispatch, without a pipeline so far, and the number of iterations that it runs: its Command::count.
struct FusedLoop {
  Command dispatch;
  int64_t iterations = 0;
};

/// Fuses a body that runs `length` times; returns none where a kernel of the body does not allow it, or where too few
/// iterations fit a dispatch. `condition` is the entry of a bool's address: the shader ends before an iteration where
/// the bool is false. Then either a dispatch can run the whole loop, or the loop has no limit (the largest int64_t).
std::optional<FusedLoop> fuse_loop(Assembly& assembly, const std::vector<Command>& body, int64_t length,
                                   std::optional<uint32_t> condition);

}  // namespace neap::vk
