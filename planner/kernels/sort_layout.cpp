#include <algorithm>

#include "core/round_up.h"
#include "planner/kernels/sort_form.h"

namespace neap::planner {
namespace {

// Blocks and slots let threads work apart and take scratch. No measurement is recorded; neap-cost's "sort" and
// "argsort" take the time of long rows.
constexpr int64_t kRowsByDigits = 128;       // elements that are worth a pass; shorter rows are merged
constexpr int64_t kBlock = 65536;            // elements of a block, at least
constexpr int64_t kMostSlots = 16;           // rows in flight
constexpr size_t kLittle = size_t{1} << 20;  // bytes of scratch that any sort may take
// Of selection; measured with top_k and medians of rows of 4,096 and of 2^24 elements.
constexpr int64_t kFewOf = 64;        // elements for each of the best that a pass holds; for more, digits are counted
constexpr int64_t kShortRow = 2048;   // elements for which counts of 8 bits are cheaper to clear and add up than of 11
constexpr int64_t kManyRows = 8;      // threads take whole rows, whose blocks would wait for each other
constexpr int64_t kHeldBeside = 16;   // elements that a pass holds beside twice the best,
constexpr int64_t kHeldApart = 1024;  // or, where digits are counted, beside those that are written

Selection selection_of(const SortForm& form) {
  if (!form.selects()) return Selection::none;
  const auto few = [&](int64_t best) { return best <= kInserted || best * kFewOf <= form.length; };
  if (few(form.limit)) return Selection::leading;
  if (few(form.length - form.start)) return Selection::last;
  return Selection::digits;
}

}  // namespace

int sort_passes(const SortForm& form, int digit_bits) {
  const int bits = form.dtype == DType::bool_ ? 1 : 8 * static_cast<int>(size_of(form.dtype));
  return (bits + digit_bits - 1) / digit_bits;
}

SortLayout sort_layout(const SortForm& form) {
  SortLayout layout;
  layout.selection = selection_of(form);
  const int passes = sort_passes(form);
  const auto n = static_cast<size_t>(form.length);
  const auto take = [&](size_t bytes) {
    const size_t at = layout.slot_bytes;
    layout.slot_bytes += round_up_64(bytes);
    return at;
  };
  const size_t element = size_of(form.dtype), index = sizeof(int32_t);
  const auto blocks = static_cast<int>(std::clamp<int64_t>(form.length / kBlock, 1, kMostSortBlocks));
  layout.merges = layout.selection == Selection::none && form.length < kRowsByDigits * passes;
  if (layout.selection != Selection::none) {
    layout.blocks = form.rows < kManyRows ? blocks : 1;
    if (layout.selection == Selection::digits) {
      layout.held = std::min(form.length, form.written() + kHeldApart);
      layout.digit_bits = form.length <= kShortRow ? 8 : kSelectDigitBits;
      layout.counts_at = take(static_cast<size_t>(layout.blocks) * 2 * (sizeof(int32_t) << layout.digit_bits));
    } else {
      const int64_t best = layout.selection == Selection::leading ? form.limit : form.length - form.start;
      const int64_t block = (form.length + layout.blocks - 1) / layout.blocks;
      layout.held = layout.blocks * std::min(block, 2 * best + kHeldBeside);
    }
    layout.held_at = take(static_cast<size_t>(layout.held + 1) * (element == 8 ? 16 : 8));
  } else if (layout.merges) {
    layout.elements_at[0] = layout.indices_at = take(n * (form.indices ? index : element));
  } else {
    layout.blocks = blocks;
    layout.counts_at = take(static_cast<size_t>(blocks) * 256 * sizeof(int64_t));
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
