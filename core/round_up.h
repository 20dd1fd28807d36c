// Sizes in whole cache lines.
#pragma once

#include <cstddef>

namespace neap {

// What allocate() accounts for a request: `bytes` rounded up to 64.
constexpr size_t round_up_64(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

}  // namespace neap
