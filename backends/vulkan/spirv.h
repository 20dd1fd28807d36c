// GLSL to SPIR-V through shaderc; results are kept on disk, keyed by the source's hash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace neap::vk {

/// MatrixElement is what GLSL says in place of the type of a cooperative matrix's elements: a constant, since a
/// spirv_type() of this compiler takes no types.
enum class MatrixElement : uint32_t { f16 = 16, f32 = 32, bf16 = 116 };
/// Puts the types in: the first operand of each OpTypeCooperativeMatrixKHR, the id of such a constant, becomes that of
/// a type, which is declared before all others. Returns whether there were any; other modules stay as they are.
bool name_matrix_elements(std::vector<uint32_t>& words);

/// Returns the SPIR-V of a compute shader for Vulkan 1.2. Throws InternalError with the compiler's message and the
/// numbered source when it does not compile; in builds with asserts, what is compiled also passes the validator
/// (spirv-val).
std::vector<uint32_t> compile_glsl(const std::string& glsl, const std::string& name);

/// Returns the module as text, for NEAP_DUMP.
std::string disassemble(const std::vector<uint32_t>& words);

}  // namespace neap::vk
