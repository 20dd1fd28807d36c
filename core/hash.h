// The hash of cache keys and dump names: XXH3, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace neap {

uint64_t xxh3_64(const void* data, size_t bytes);
inline uint64_t xxh3_64(std::string_view text) { return xxh3_64(text.data(), text.size()); }

// Returns the 64-bit hash as 16 lower-case hexadecimal digits.
std::string xxh3_hex(std::string_view text);
// Returns the 128-bit hash as 32 such digits: it makes the keys of files that other programs may have written.
std::string xxh3_128_hex(std::string_view text);

}  // namespace neap
