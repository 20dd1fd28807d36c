// GLSL to SPIR-V through shaderc; results are kept on disk, keyed by the source's hash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace neap::vk {

/// SPIR-V of a compute shader for Vulkan 1.2. InternalError with the compiler's message and the numbered source when it
/// does not compile; in builds with asserts the result also passes the validator (spirv-val).
std::vector<uint32_t> compile_glsl(const std::string& glsl, const std::string& name);

/// The module as text, for NEAP_DUMP.
std::string disassemble(const std::vector<uint32_t>& words);

/// Where compiled kernels are kept: NEAP_CACHE_DIR, else $XDG_CACHE_HOME/neap, else ~/.cache/neap; nullopt when
/// NEAP_CACHE_DIR is empty or no folder can be made. A damaged or foreign file in it is ignored and replaced.
std::optional<std::filesystem::path> cache_folder();

}  // namespace neap::vk
