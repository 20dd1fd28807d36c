#include <algorithm>

#include "planner/kernels/cumulative_form.h"

namespace neap::planner {
namespace {

// Sums on the stack of a task; tasks that are enough for threads; elements of a block, at least. Not measured one by
// one: bench/README.md has the time of whole cumsums.
constexpr int64_t kMostColumns = 512, kTasks = 16, kBlock = 16384, kMostBlocks = 64;

}  // namespace

CumulativeLayout cumulative_layout(const CumulativeForm& form) {
  CumulativeLayout layout;
  layout.columns = std::min(form.inner, kMostColumns);
  if (form.size() == 0) return layout;
  const int64_t tasks = form.outer * ((form.inner + layout.columns - 1) / layout.columns);
  if (tasks < kTasks) {
    layout.blocks = std::clamp<int64_t>(form.length * layout.columns / kBlock, 1, kMostBlocks);
    layout.blocks = std::min(layout.blocks, form.length);
  }
  if (layout.blocks > 1) {
    layout.scratch_bytes = static_cast<size_t>(form.outer * layout.blocks * form.inner) * sizeof(double);
  }
  return layout;
}

}  // namespace neap::planner
