// Files that the next process finds: what one has compiled, each file with its length and checksum before it. The
// folder may lie where others write: what is read becomes code, so only regular files that this user owns and nobody
// else may write are, no links. Tested in tests/core/file_cache_test.cpp.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace neap {

/// Returns where compiled kernels are kept: NEAP_CACHE_DIR, else $XDG_CACHE_HOME/neap, else ~/.cache/neap; nullopt when
/// NEAP_CACHE is "off", NEAP_CACHE_DIR is empty, none of them is set, or no folder can be made. Throws OptionError
/// where NEAP_CACHE is neither "off" nor bytes. A damaged or foreign file in it is ignored and replaced.
std::optional<std::filesystem::path> cache_folder();

/// Returns what store_cached() wrote under this name; nullopt when there is no such file, or it is damaged, or somebody
/// else owns or may write it.
std::optional<std::string> load_cached(std::string_view name);

/// Writes the file, whole or not at all, because several processes share the folder. Where the files of the folder
/// take more bytes than NEAP_CACHE says (256 MiB), those that were not used for longest are removed, but none of other
/// programs. A failure is no error: the next process compiles again.
void store_cached(std::string_view name, std::string_view bytes) noexcept;

}  // namespace neap
