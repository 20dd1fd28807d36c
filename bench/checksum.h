// What identifies outputs: XXH3 of their bytes, and their sum.
#pragma once

#include <neap/array.h>

#include <cstddef>
#include <span>
#include <string>

namespace bench {

struct Digest {
  std::string checksum;  // 16 hexadecimal digits: XXH3, 64 bits, of all bytes in row-major order, array after array
  double sum = 0;        // of all elements, in f64, in a fixed order
};

std::string checksum_of(std::span<const std::byte> bytes);
Digest digest_of(std::span<const neap::Array> arrays);

}  // namespace bench
