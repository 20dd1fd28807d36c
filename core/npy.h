// Reading and writing of NumPy's .npy files.
#pragma once

#include <neap/shape.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <source_location>

#include "core/buffer.h"

namespace neap {

// HostArray is a concrete array in host memory: row-major, without gaps.
struct HostArray {
  Aval aval;
  BufferPtr data;
};

// Returns the bytes of an array that a file describes; nullopt where its extents, those of 0 left out, need more than
// an int64 counts: strides of such a shape would overflow.
std::optional<uint64_t> counted_bytes(const Aval& aval);

// Reads format versions 1 to 3, little-endian or single-byte elements; Fortran order is transposed while reading. NumPy
// has no bf16, and files of two-byte void ('V2', what ml_dtypes' bfloat16 saves as) read as bf16. Throws UserError
// where the file is missing, damaged or of another element type.
HostArray read_npy(const std::filesystem::path& path, std::source_location loc = std::source_location::current());

// Writes version 1 (2 where the header is long). bf16 is written as '<V2', as NumPy with ml_dtypes does. The file
// appears whole or not at all. Throws UserError where it cannot be written.
void write_npy(const std::filesystem::path& path, const HostArray& array,
               std::source_location loc = std::source_location::current());

}  // namespace neap
