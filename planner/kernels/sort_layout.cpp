#include <algorithm>

#include "core/round_up.h"
#include "planner/kernels/sort_form.h"

namespace neap::planner {
namespace {

// Blocks and slots let threads work apart and take scratch. No measurement is recorded; neap-cost's "sort" and
// "argsort" take the time of long rows.
constexpr int64_t kRowsByDigits = 128;                // elements that are worth a pass; shorter rows are merged
constexpr int64_t kBlock = 65536;                     // elements of a block, at least
constexpr int64_t kMostBlocks = 64, kMostSlots = 16;  // of a row; of rows in flight
constexpr size_t kLittle = size_t{1} << 20;           // bytes of scratch that any sort may take

}  // namespace

int sort_passes(const SortForm& form, int digit_bits) {
  const int bits = form.dtype == DType::bool_ ? 1 : 8 * static_cast<int>(size_of(form.dtype));
  return (bits + digit_bits - 1) / digit_bits;
}

SortLayout sort_layout(const SortForm& form) {
  SortLayout layout;
  const int passes = sort_passes(form);
  const auto n = static_cast<size_t>(form.length);
  const auto take = [&](size_t bytes) {
    const size_t at = layout.slot_bytes;
    layout.slot_bytes += round_up_64(bytes);
    return at;
  };
  const size_t element = size_of(form.dtype), index = sizeof(int32_t);
  layout.merges = form.length < kRowsByDigits * passes;
  if (layout.merges) {
    layout.elements_at[0] = layout.indices_at = take(n * (form.indices ? index : element));
  } else {
    layout.blocks = static_cast<int>(std::clamp<int64_t>(form.length / kBlock, 1, kMostBlocks));
    layout.counts_at = take(static_cast<size_t>(layout.blocks) * 256 * sizeof(int64_t));
    if (passes > 1) layout.elements_at[0] = take(n * element);
    if (passes > 2 && form.indices) layout.elements_at[1] = take(n * element);
    if (passes > 1 && form.indices) layout.indices_at = take(n * index);
  }
  if (layout.blocks > 1 || form.rows < 2) return layout;
  // As many rows in flight as the operand's bytes hold, two at least.
  const size_t affordable = std::max(kLittle, static_cast<size_t>(form.rows) * n * element) / layout.slot_bytes;
  layout.slots = static_cast<int>(std::clamp<int64_t>(static_cast<int64_t>(affordable), 2, kMostSlots));
  layout.slots = static_cast<int>(std::min<int64_t>(layout.slots, form.rows));
  return layout;
}

}  // namespace neap::planner
