// A matrix product is cut into tiles, and the tiles in flight need packing space, which is chosen by shape alone, never
// by threads, so that the plan is exact; nor do bits depend on how a product is cut. Tested in
// tests/backends/cpu_gemm_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/kernels/dot_form.h"

namespace neap::planner {

struct DotTiles {
  int64_t tile_m = 0, tile_n = 0;    // elements of out along m and n
  int64_t block_k = 0;               // what is packed at once
  int64_t count_m = 0, count_n = 0;  // tiles of one matrix
  int64_t count = 0;                 // of all batches
  int slots = 0;                     // tiles in flight at most
  size_t lhs_bytes = 0;              // packed, each a multiple of 64
  size_t slot_bytes = 0;             // lhs and rhs
};

/// Tiles below this many multiplications are not worth a task of their own.
inline constexpr double kWorthATile = 1 << 20;
/// Returns how many of so many tiles, of so many multiplications each, are in flight at most: as many as an eighth of
/// the operands' bytes can pack, two at least where there is work for two.
int tiles_in_flight(int64_t count, double multiplications, double operand_bytes, size_t slot_bytes);

DotTiles dot_tiles(const DotForm& form);
/// Returns the tiles of a product that one thread makes one by one: as large as the scratch of all slots allows, so
/// that the same rows and columns are packed less often.
DotTiles one_by_one(const DotForm& form, const DotTiles& tiles);
/// Returns the bytes of a dot step's scratch.
size_t dot_scratch_bytes(const DotForm& form);

}  // namespace neap::planner
