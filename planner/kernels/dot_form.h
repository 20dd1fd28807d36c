// The shape of a canonical matrix product, as planner/kernels/dot.h defines it.
#pragma once

#include <neap/dtype.h>

#include <cstdint>

namespace neap::planner {

/// Narrow says how an operand lies in memory: as the product's dtype, or as a narrower one, converted as it is packed.
enum class Narrow : uint8_t { no, f16, bf16, i8, u8 };

/// Describes a canonical dot_general in terms of matrix products.
struct DotForm {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool lhs_transposed = false;  // lhs is [batch, k, m]
  bool rhs_transposed = false;  // rhs is [batch, n, k]
  DType dtype = DType::f32;
  bool adds = false;                                        // to what out holds
  int64_t whole_k = 0;                                      // of the product of which this is a part along k; or 0
  Narrow lhs_narrow = Narrow::no, rhs_narrow = Narrow::no;  // of products in f32
  bool of_bf16 = false;                                     // in the program: subnormal numbers may count as zeros
  bool operator==(const DotForm&) const = default;
};

// Terms of a sum. Shorter blocks round less and read and write the result more often; both numbers decide bits. No
// measurement is recorded; tests/backends/cpu_gemm_test.cpp bounds the error, and neap-cost's "product" takes the time.
inline constexpr int64_t kLongDot = 2048, kDotBlock = 256;
// Terms of bf16 that a processor with tiles adds up before it adds them to a sum.
inline constexpr int64_t kDotTile = 32;

}  // namespace neap::planner
