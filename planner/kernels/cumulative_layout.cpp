#include <algorithm>

#include "planner/kernels/cumulative_form.h"

namespace neap::planner {
namespace {

// Elements of a block, at least, and blocks at most; tasks that are enough for threads. Not measured one by one.
constexpr int64_t kBlock = 1024, kMostBlocks = 1024, kTasks = 16;

}  // namespace

int64_t cumulative_block(const CumulativeForm& form) {
  if (form.is_float_product()) return std::max<int64_t>(form.length, 1);
  return std::max(kBlock, (form.length + kMostBlocks - 1) / kMostBlocks);
}

CumulativeLayout cumulative_layout(const CumulativeForm& form) {
  CumulativeLayout layout;
  layout.columns = std::min(form.inner, kMostCumulativeColumns);
  if (form.size() == 0) return layout;
  const int64_t tasks = form.outer * ((form.inner + layout.columns - 1) / layout.columns);
  const int64_t block = cumulative_block(form), blocks = (form.length + block - 1) / block;
  if (tasks >= kTasks || blocks == 1) return layout;
  layout.blocks = blocks;
  layout.scratch_bytes = static_cast<size_t>(form.outer * blocks * form.inner) * sizeof(double);
  return layout;
}

}  // namespace neap::planner
