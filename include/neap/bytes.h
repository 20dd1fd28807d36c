// Byte counts: literals, printing, reading.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// Bytes is a byte count that prints as format_bytes writes it; otherwise it is a size_t.
struct Bytes {
  size_t count = 0;                                    // its bytes
  constexpr Bytes(size_t n = 0) : count(n) {}          // NOLINT: converts as a number does
  constexpr operator size_t() const { return count; }  // NOLINT
};
/// Writes what format_bytes() gives.
std::ostream& operator<<(std::ostream& out, Bytes bytes);

namespace literals {
/// Makes 512_KiB 512 x 1024 bytes, after `using namespace neap::literals`.
constexpr size_t operator""_KiB(unsigned long long n) { return static_cast<size_t>(n) << 10; }
/// Makes 512_MiB 512 x 1024^2 bytes.
constexpr size_t operator""_MiB(unsigned long long n) { return static_cast<size_t>(n) << 20; }
/// Makes 2_GiB 2 x 1024^3 bytes.
constexpr size_t operator""_GiB(unsigned long long n) { return static_cast<size_t>(n) << 30; }
}  // namespace literals

/// Writes "4.00 GiB", "1.50 MiB", "512 B": two decimals in the largest binary unit that is not above the number.
std::string format_bytes(size_t bytes);

/// Reads "512MiB", "1.5 GB", "64k", "4096": a decimal number and a unit, in either case. KiB, MiB, ... and a bare K, M,
/// G, T are powers of 1024; KB, MB, GB, TB powers of 1000. nullopt for anything else, or where size_t overflows.
std::optional<size_t> parse_bytes(std::string_view text);

}  // namespace neap

#pragma GCC visibility pop
