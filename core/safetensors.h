// The safetensors format: an 8-byte header length, a JSON header, then the arrays.
#pragma once

#include <filesystem>
#include <map>
#include <source_location>
#include <string>

#include "core/npy.h"

namespace neap {

// Returns all arrays of the file by name; "__metadata__" is skipped. Throws UserError where the file is missing or
// damaged.
std::map<std::string, HostArray> read_safetensors(const std::filesystem::path& path,
                                                  std::source_location loc = std::source_location::current());

// Writes wider elements first, so that all are aligned, and by name among equals. The file appears whole or not at all.
// Throws UserError where it cannot be written.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, HostArray>& arrays,
                       std::source_location loc = std::source_location::current());

}  // namespace neap
