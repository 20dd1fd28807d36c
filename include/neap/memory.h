// What Neap's allocator holds, and what the process holds. Thread-safe.
#pragma once

#include <cstddef>
#include <optional>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap::memory {

/// Returns the bytes of all arrays, arenas and scratch that are alive, each rounded up to 64.
size_t live_bytes();
/// Returns the highest live_bytes() since the start of the process or the last reset_peak().
size_t peak_bytes();
/// Makes peak_bytes() equal to live_bytes().
void reset_peak();

/// Sets a hard limit on live_bytes(): an allocation that would pass it throws OutOfMemoryError. nullopt: none.
void set_limit(std::optional<size_t> bytes);
/// Returns that limit.
std::optional<size_t> limit();

/// Returns the freed memory kept for reuse, in whole pages. Live and cached pages together never exceed the most that
/// live ones ever were, nor the limit: keeping them does not raise the resident set above its natural peak.
size_t cached_bytes();
/// Gives all cached blocks back to the operating system.
void release_cached();

/// Returns the process's resident set, as the kernel counts it; 0 where the kernel does not tell.
size_t resident_bytes();
/// Returns the highest resident set since the start of the process or the last reset_peak_resident().
size_t peak_resident_bytes();
/// Makes peak_resident_bytes() equal to resident_bytes(); false where the kernel refuses.
bool reset_peak_resident();

}  // namespace neap::memory

#pragma GCC visibility pop
