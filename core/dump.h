// NEAP_DUMP=folder: writes plans, graphs and kernels to files there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace neap {

// Returns the folder that NEAP_DUMP names, made on first use; nullopt where the variable is unset or empty.
const std::optional<std::filesystem::path>& dump_dir();

// Returns a number for the names of one dump's files, 0, 1, 2, ... in this process, so that "<number>-<what>.<ext>" is
// unique.
int next_dump_number();

// Writes dump_dir() / name, whole or not at all; does nothing where dumping is off. A folder in the name is made. A
// dump that cannot be written is reported once on standard error and does not stop the program.
void dump_text(std::string_view name, std::string_view text);

}  // namespace neap
