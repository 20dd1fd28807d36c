// Memory of its own for the buffers of a plan, where the plan says that they lie; what is not written yet is no zero.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/buffer.h"
#include "planner/plan/plan.h"

namespace neap::cpu {

class PlanMemory {
 public:
  explicit PlanMemory(const planner::PlanData& plan) : plan_(plan), places_(plan.buffers.size()) {
    std::byte* const arena = fresh(plan.arena_bytes);
    for (size_t b = 0; b < places_.size(); ++b) {
      const auto& buffer = plan.buffers[b];
      if (buffer.alias_of < 0) places_[b] = buffer.offset >= 0 ? arena + buffer.offset : fresh(buffer.bytes);
    }
    for (size_t b = 0; b < places_.size(); ++b) {
      const int at = static_cast<int>(b);
      if (plan.buffers[b].alias_of >= 0) places_[b] = places_[plan.root(at)] + plan.shift(at);
    }
  }

  std::byte** data() { return places_.data(); }
  std::byte* operator[](int buffer) const { return places_[buffer]; }

  std::vector<std::byte> outputs() const {
    std::vector<std::byte> bytes;
    for (const int b : plan_.outputs) {
      bytes.insert(bytes.end(), places_[b], places_[b] + plan_.buffers[b].aval.bytes());
    }
    return bytes;
  }

 private:
  std::byte* fresh(size_t bytes) {
    held_.push_back(allocate(std::max<size_t>(bytes, 64), "test"));
    std::memset(held_.back()->data(), 0x5a, std::max<size_t>(bytes, 64));
    return held_.back()->data();
  }

  const planner::PlanData& plan_;
  std::vector<BufferPtr> held_;
  std::vector<std::byte*> places_;
};

}  // namespace neap::cpu
