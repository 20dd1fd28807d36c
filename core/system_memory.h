// How much memory the operating system says is left.
#pragma once

#include <cstddef>
#include <optional>

namespace neap::detail {

// Returns the bytes that the machine, or the control group that the process is in, can still give without swapping or
// killing; nullopt where the system does not tell.
std::optional<size_t> available_memory();

}  // namespace neap::detail
