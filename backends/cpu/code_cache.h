// Object files of kernels that an earlier process has compiled (core/file_cache.h). Tested in
// tests/jit/cpu_code_cache_test.cpp and tests/backends/cpu_code_cache_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/cpu/target.h"

namespace neap::cpu {

/// Returns a hash of our sources that have a say in the code of kernels (cmake/CodeVersion.cmake makes it).
std::string_view code_version();

/// Returns the symbol of a kernel's code, from which its file has its name too: a hash of the kernel's text, of the
/// target, and of LLVM's version and ours.
std::string code_symbol(std::string_view kernel, const CodeTarget& target);

/// Returns the object file that store_code() wrote, of just this kernel; nullopt where there is none.
std::optional<std::string> load_code(const std::string& symbol, std::string_view kernel);
void store_code(const std::string& symbol, std::string_view kernel, std::string_view object) noexcept;

}  // namespace neap::cpu
