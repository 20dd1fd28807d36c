#include "backends/vulkan/hazards.h"

#include <algorithm>

namespace neap::vk {

Hazards::Range Hazards::range(int buffer) const {
  const auto& own = plan_.buffers[buffer];
  const int root = plan_.root(buffer);
  const auto& block = plan_.buffers[root];
  const int64_t shift = plan_.shift(buffer);
  const auto bytes = static_cast<int64_t>(own.aval.bytes());
  if (block.offset < 0) return {root, shift, shift + bytes};
  return {-1, block.offset + shift, block.offset + shift + bytes};
}

bool Hazards::needs_barrier(const std::vector<int>& reads, const std::vector<int>& writes) {
  const auto touches = [&](const std::vector<Range>& earlier, const std::vector<int>& buffers) {
    return std::ranges::any_of(buffers, [&](int b) {
      const Range mine = range(b);
      return std::ranges::any_of(earlier, [&](const Range& r) { return r.overlaps(mine); });
    });
  };
  if (touches(writes_, reads) || touches(writes_, writes) || touches(reads_, writes)) return true;
  for (const int b : reads) reads_.push_back(range(b));
  for (const int b : writes) writes_.push_back(range(b));
  return false;
}

}  // namespace neap::vk
