// Files of cache_folder() (spirv.h), each with its length and checksum before it. The folder may lie where others
// write: what is read hands code to a driver, so only regular files that this user owns and nobody else may write are,
// no links.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace neap::vk {

/// Returns what store_cached() wrote under this name; nullopt when there is no such file, or it is damaged, or somebody
/// else owns or may write it.
std::optional<std::string> load_cached(std::string_view name);

/// Writes the file, whole or not at all, because several processes share the folder. A failure is no error: the next
/// process compiles again.
void store_cached(std::string_view name, std::string_view bytes) noexcept;

}  // namespace neap::vk
