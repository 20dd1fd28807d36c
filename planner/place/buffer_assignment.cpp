#include "planner/place/buffer_assignment.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "planner/place/place.h"
#include "planner/place/place_split.h"
#include "planner/plan/queries.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kNear = 10'000;  // Placing::near is content with a 10,000th more than the bound

bool is_input(const PlanBuffer& buffer) {
  return buffer.storage == Storage::argument || buffer.storage == Storage::captured;
}

// Which buffers lie in the arena, and how they are placed.
struct Arena {
  std::vector<int> members;
  std::vector<Block> blocks;
  size_t beside = 0;                                  // bytes held outside it
  size_t total = std::numeric_limits<size_t>::max();  // once it is laid out
  Placement placement;
  std::vector<size_t> allocations;  // where it is more than one

  size_t bound() const { return beside + live_bytes_bound(blocks); }
  // In allocations of at most so many bytes; 0: in one.
  void lay_out(size_t largest, Placing placing, SharedPlacing* shared) {
    const size_t least = live_bytes_bound(blocks);
    placement = place(blocks, {.enough = placing == Placing::near ? least + least / kNear : 0, .shared = shared});
    if (largest > 0 && placement.extent > largest) {
      SplitPlacement split = place_split(blocks, largest);
      placement.offsets = std::move(split.offsets);
      placement.extent = std::accumulate(split.extents.begin(), split.extents.end(), size_t{0});
      if (split.extents.size() > 1) allocations = std::move(split.extents);  // a rule of its own may fit where none did
    }
    total = beside + placement.extent;
  }

  // As low as could be, all over each other.
  void lay_out_nowhere() {
    placement.offsets.assign(blocks.size(), 0);
    placement.extent = live_bytes_bound(blocks);
    total = beside + placement.extent;
  }

  void add(const PlanData& plan, int b, size_t alignment) {
    const PlanBuffer& buffer = plan.buffers[b];
    members.push_back(b);
    blocks.push_back({buffer.first, buffer.last, (buffer.bytes + alignment - 1) / alignment * alignment});
  }
};

Arena collect(const PlanData& plan, bool with_outputs, const Target& target) {
  Arena arena;
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    if (buffer.alias_of >= 0 || is_input(buffer) || buffer.last < buffer.first) continue;
    if (buffer.storage != Storage::output || with_outputs) arena.add(plan, b, target.alignment);
  }
  return arena;
}

// Of what lies there, not of what alignment adds.
size_t live_bound(const PlanData& plan, const Arena& arena) {
  std::vector<Block> blocks = arena.blocks;
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i].bytes = plan.buffers[arena.members[i]].bytes;
  return live_bytes_bound(blocks);
}

void use_arena(PlanData& plan, const Arena& arena) {
  plan.arena_bytes = arena.placement.extent;
  plan.arena_blocks = arena.allocations;
  for (size_t i = 0; i < arena.members.size(); ++i) {
    plan.buffers[arena.members[i]].offset = arena.placement.offsets[i];
  }
  for (PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of >= 0) {
      const int64_t whole = plan.buffers[buffer.alias_of].offset;
      buffer.offset = whole < 0 ? -1 : whole + buffer.alias_offset;
    }
  }
}

size_t sum_of(const PlanData& plan, Storage storage) {
  size_t bytes = 0;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.storage == storage && buffer.alias_of < 0) bytes += buffer.bytes;
  }
  return bytes;
}

// bytes_added and bytes_live of each step, `held` bytes being there throughout. Holes that placing could not fill count
// at every step, so that the peak step's bytes are the peak.
void count_steps(PlanData& plan, size_t held) {
  const int count = static_cast<int>(plan.steps.size());
  std::vector<size_t> added(count, 0), starts(count + 1, 0), stops(count + 1, 0);
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of >= 0 || is_input(buffer) || buffer.first >= count) continue;
    added[buffer.first] += buffer.bytes;
    if (!plan.naive && buffer.offset < 0) continue;  // an output of its own: held throughout
    starts[buffer.first] += buffer.bytes;
    stops[std::min(buffer.last, count - 1) + 1] += buffer.bytes;
  }
  size_t live = 0, most = 0;
  for (int s = 0; s < count; ++s) {
    live = live + starts[s] - stops[s];
    most = std::max(most, live);
    plan.steps[s].bytes_added = added[s];
    plan.steps[s].bytes_live = held + live;
  }
  const size_t holes = plan.naive ? 0 : plan.arena_bytes - most;
  for (PlanStep& step : plan.steps) step.bytes_live += holes;
}

}  // namespace

void assign_buffers(PlanData& plan, const Target& target, Placing placing, SharedPlacing* shared) {
  for (PlanBuffer& buffer : plan.buffers) buffer.offset = -1;
  const size_t inputs = sum_of(plan, Storage::argument) + sum_of(plan, Storage::captured);
  const size_t outputs = sum_of(plan, Storage::output);
  Arena slab = collect(plan, true, target);
  const size_t bound = slab.bound();
  plan.lower_bound_bytes = inputs + (target.alignment > 64 ? live_bound(plan, slab) : bound);
  if (plan.naive) {
    count_steps(plan, inputs);
    plan.peak_bytes = plan.lower_bound_bytes;
    return;
  }
  Arena apart = collect(plan, false, target);
  apart.beside = outputs;
  const size_t apart_bound = apart.bound(), largest = target.largest_allocation;
  const bool slab_first = target.carves && bound < apart_bound;
  if (placing == Placing::nowhere) {
    plan.slab = slab_first;
    (slab_first ? slab : apart).lay_out_nowhere();
  } else {
    // Placing can take long: what the other's bytes rule out is not placed.
    if (slab_first) slab.lay_out(largest, placing, shared);
    if (slab.total >= apart_bound) apart.lay_out(largest, placing, shared);
    if (target.carves && !slab_first && apart.total > bound) slab.lay_out(largest, placing, shared);
    plan.slab = slab.total < apart.total;
  }
  use_arena(plan, plan.slab ? slab : apart);
  const size_t held = inputs + (plan.slab ? 0 : outputs);
  plan.peak_bytes = held + plan.arena_bytes;
  count_steps(plan, held);
}

size_t held_beside(const PlanData& plan, const Target& target) {
  return sum_of(plan, Storage::argument) + sum_of(plan, Storage::captured) +
         (target.carves ? 0 : sum_of(plan, Storage::output));
}

namespace {

// Lays the arena of a loop's body out again so that carries change places, where that takes little: what is in their
// places before they are there would be elsewhere.
void let_trade(PlanData& body, int num_carry, const Target& target, SharedPlacing* shared, const Arena& arena) {
  constexpr size_t kShare = 32;            // of the bytes that would be copied in every iteration
  std::vector<std::pair<int, int>> later;  // carries, and their first steps
  size_t copied = 0;
  for (int j = 0; j < num_carry; ++j) {
    const int b = body.outputs[j];
    const PlanBuffer& carry = body.buffers[b];
    if (carry.alias_of >= 0 || carry.bytes < kFewestTraded || carry.first == 0 || may_trade(body, b)) continue;
    later.emplace_back(b, carry.first);
    copied += carry.bytes;
  }
  if (later.empty()) return;
  for (const auto& [b, first] : later) body.buffers[b].first = 0;
  Arena other = collect(body, false, target);
  other.lay_out(0, Placing::best, shared);
  for (const auto& [b, first] : later) body.buffers[b].first = first;
  if (other.placement.extent <= arena.placement.extent + copied / kShare) use_arena(body, other);
}

}  // namespace

void assign_buffers_of_body(PlanData& body, int num_carry, const Target& target, SharedPlacing* shared) {
  const int last = std::max(0, static_cast<int>(body.steps.size()) - 1);
  for (int j = 0; j < num_carry; ++j) {
    PlanBuffer& carry = body.buffers[body.outputs[j]];
    if (carry.alias_of >= 0) continue;
    carry.storage = Storage::intermediate;  // its bytes are copied out after the last step
    carry.last = last;
  }
  body.slab = true;
  Arena arena = collect(body, false, target);
  arena.lay_out(0, Placing::best, shared);  // it lies in the one outside, in one piece
  use_arena(body, arena);
  if (!target.gpu) let_trade(body, num_carry, target, shared, arena);
  body.lower_bound_bytes = live_bound(body, arena);
  body.peak_bytes = body.arena_bytes;
  count_steps(body, 0);
}

}  // namespace neap::planner
