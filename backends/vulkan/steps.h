// A plan's steps as commands of a program.
//
// Every kind of step but a loop (loop.h) becomes dispatches, or work of the host, by rules of its own; they stand here,
// apart from how commands are put together (assembly.h). With NEAP_POISON=1 memory is overwritten between steps.
// Tested in tests/vulkan/jit_test.cpp, tests/vulkan/sort_test.cpp and tests/vulkan/linalg_test.cpp.
#pragma once

#include <vector>

#include "backends/vulkan/assembly.h"

namespace neap::vk {

/// Adds the commands of all steps of the scope's plan to the list, and after each the mark of its end. Throws UserError
/// when the device lacks a dtype.
void lower_steps(Assembly& assembly, Scope& scope, std::vector<Command>& list);

}  // namespace neap::vk
