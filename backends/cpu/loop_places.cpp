#include "backends/cpu/loop_places.h"

#include <algorithm>

namespace neap::cpu {

std::optional<LoopPlaces> LoopPlaces::of(const ScanCode& scan, const planner::PlanData& body) {
  LoopPlaces places;
  const auto root = [&](int buffer) { return scan.body->root[static_cast<size_t>(buffer)]; };
  const auto size = [&](int buffer) { return body.buffers[static_cast<size_t>(buffer)].aval.size(); };
  for (const auto& s : scan.sliced) {
    if (!s.stored) places.slices.insert(s.body_buffer);
  }
  for (const auto& [buffer, outer] : scan.fixed) places.fixed.insert(buffer);
  for (const auto& c : scan.carried) {
    if (places.fixed.contains(root(c.from))) return std::nullopt;
    places.carries.emplace_back(c.from, c.in_place_of);
  }
  for (const int b : body.outputs) {  // written where it lies, or the same for ever
    if (places.fixed.contains(root(b))) places.carries.emplace_back(b, root(b));
  }
  for (const auto& [from, place] : places.carries) {
    if (root(place) != place || size(from) != size(place)) return std::nullopt;
    places.carried.insert(place);
  }
  return places;
}

}  // namespace neap::cpu
