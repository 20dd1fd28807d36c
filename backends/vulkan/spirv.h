// GLSL to SPIR-V through shaderc; results are kept on disk, keyed by the source's hash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace neap::vk {

/// Returns the SPIR-V of a compute shader for Vulkan 1.2. Throws InternalError with the compiler's message and the
/// numbered source when it does not compile; in builds with asserts, what is compiled also passes the validator
/// (spirv-val).
std::vector<uint32_t> compile_glsl(const std::string& glsl, const std::string& name);

/// Returns the module as text, for NEAP_DUMP.
std::string disassemble(const std::vector<uint32_t>& words);

}  // namespace neap::vk
