#include "planner/kernels/dot_scratch.h"

#include <algorithm>

namespace neap::planner {
namespace {

// neap-cost's "product" and "thin product" measure these. Tiles are in elements: a tile's share of out stays in the
// cache nearest to the core but one, and costs a few percent to pack.
constexpr int64_t kTileM = 512, kTileN = 256, kBlockK = kDotBlock, kLeastTile = 32;
constexpr int64_t kEnoughTiles = 16;  // with fewer, tiles are halved, so that more threads have some
constexpr int kMostSlots = 16;        // tiles in flight: more let more threads work, and take more scratch

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
size_t packed(int64_t rows, int64_t k, DType dtype) {
  return (static_cast<size_t>(rows * k) * size_of(dtype) + 63) / 64 * 64;
}

}  // namespace

int tiles_in_flight(int64_t count, double multiplications, double operand_bytes, size_t slot_bytes) {
  const double affordable = operand_bytes / 8 / static_cast<double>(slot_bytes);
  const double worth = multiplications * static_cast<double>(count) / kWorthATile;
  const double most = std::clamp(std::min(std::max(affordable, 2.0), worth), 1.0, double{kMostSlots});
  return static_cast<int>(std::clamp<int64_t>(count, 1, static_cast<int>(most)));
}

DotTiles dot_tiles(const DotForm& form) {
  DotTiles t;
  t.tile_m = std::clamp<int64_t>(form.m, 1, kTileM);
  t.tile_n = std::clamp<int64_t>(form.n, 1, kTileN);
  t.block_k = std::clamp<int64_t>(form.k, 1, kBlockK);
  const auto count = [&] { return form.batch * ceil_div(form.m, t.tile_m) * ceil_div(form.n, t.tile_n); };
  const auto work = [&] {
    return static_cast<double>(t.tile_m) * static_cast<double>(t.tile_n) * static_cast<double>(form.k);
  };
  // Small products: smaller tiles, so that several threads have some.
  while (count() < kEnoughTiles && work() > 2 * kWorthATile && std::max(t.tile_m, t.tile_n) > kLeastTile) {
    int64_t& larger = t.tile_m >= t.tile_n ? t.tile_m : t.tile_n;
    larger = ceil_div(ceil_div(larger, 2), 16) * 16;
  }
  // No narrow rest.
  const auto even = [](int64_t extent, int64_t& tile) {
    const int64_t count = ceil_div(extent, tile);
    tile = std::min(tile, ceil_div(ceil_div(extent, count), 16) * 16);
    return count;
  };
  t.count_m = even(form.m, t.tile_m);
  t.count_n = even(form.n, t.tile_n);
  t.count = count();
  t.lhs_bytes = packed(t.tile_m, t.block_k, form.dtype);
  t.slot_bytes = t.lhs_bytes + packed(t.tile_n, t.block_k, form.dtype);
  const double bytes = static_cast<double>(size_of(form.dtype)) * static_cast<double>(form.batch) *
                       (static_cast<double>(form.m) * static_cast<double>(form.k) +
                        static_cast<double>(form.k) * static_cast<double>(form.n) +
                        static_cast<double>(form.m) * static_cast<double>(form.n));
  t.slots = tiles_in_flight(t.count, work(), bytes, t.slot_bytes);
  return t;
}

size_t dot_scratch_bytes(const DotForm& form) {
  const DotTiles t = dot_tiles(form);
  return static_cast<size_t>(t.slots) * t.slot_bytes;
}

}  // namespace neap::planner
