// What the forms of the matrix product share (matmul.cpp says which is taken when).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "backends/vulkan/glsl_module.h"
#include "planner/kernels/dot.h"

namespace neap::vk {

/// MatmulElement is how the elements of a product are written in GLSL.
struct MatmulElement {
  explicit MatmulElement(Module& m, DType dtype) : bytes(size_of(dtype)) {
    const bool wide = dtype == DType::f64;
    type = wide ? "double" : "float";
    vector = wide ? "dvec" : "vec";
    zero = literal(m, 0, wide ? DType::f64 : DType::f32);
    reference = m.use(wide ? "RF64" : "RF32");
  }
  size_t bytes;
  std::string type, vector, zero, reference;

  std::string of_length(uint32_t n) const { return n == 1 ? type : vector + std::to_string(n); }
  std::string at(const std::string& address) const { return fmt::format("{}({}).v", reference, address); }
};

/// Returns a tile no larger than need be.
inline uint32_t fitted(uint32_t tile, int64_t extent) {
  return static_cast<uint32_t>(std::min<uint64_t>(tile, std::bit_ceil(static_cast<uint64_t>(extent))));
}

inline int64_t tiles(int64_t extent, uint32_t tile) { return (extent + tile - 1) / tile; }

/// Returns the product of halves, by matrices of the shape Choices::matrix. `types`, for tests, is GLSL that defines
/// MatrixC, NO_SUM (zeros), MATRIX_A, MATRIX_B, STORE and multiply_add in place of the extension's.
Shader matmul_by_matrices(const planner::DotForm& form, const Choices& choices, const std::string* types = nullptr);
/// Returns the product for a device with Choices::matmul_by_subgroup.
Shader matmul_by_subgroup(const planner::DotForm& form, const Choices& choices);

}  // namespace neap::vk
