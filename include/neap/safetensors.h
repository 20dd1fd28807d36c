// Arrays by name, in .safetensors files: what models are handed around in. Not part of neap.h.
#pragma once

#include <neap/array.h>

#include <filesystem>
#include <map>
#include <source_location>
#include <string>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// Reads the arrays of a .safetensors file, by name. Throws UserError as load_npy() does.
std::map<std::string, Array> load_safetensors(const std::filesystem::path& path,
                                              std::source_location loc = std::source_location::current());
/// Writes arrays, by name, as a .safetensors file, which appears whole or not at all.
void save_safetensors(const std::filesystem::path& path, const std::map<std::string, Array>& arrays,
                      std::source_location loc = std::source_location::current());

}  // namespace neap

#pragma GCC visibility pop
