#include "backends/vulkan/run_memory.h"

#include <algorithm>
#include <iterator>

#include "core/check.h"

namespace neap::vk {

using planner::PlanData;

Roles::Roles(const PlanData& plan) : input_of(plan.buffers.size(), -1), is_output(plan.buffers.size(), false) {
  for (size_t i = 0; i < plan.inputs.size(); ++i) input_of[plan.inputs[i]] = static_cast<int>(i);
  for (const int b : plan.outputs) is_output[plan.root(b)] = true;
}

RunMemory::RunMemory(const PlanData& plan, const Roles& roles, Device& device, Store& store)
    : plan_(plan), roles_(roles), device_(device), store_(store), buffers_(plan.buffers.size()) {}

void RunMemory::make_room() { arena_ = store_.make_room(whole() ? plan_.arena_bytes : 0); }

void RunMemory::take(const std::vector<BufferPtr>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    buffers_[plan_.inputs[i]] = store_.bring(inputs[i], plan_.buffers[plan_.inputs[i]].label);
  }
  if (!arena_ && whole() && plan_.arena_bytes > 0) arena_ = store_.allocate(plan_.arena_bytes, plan_.name);
  for (const size_t bytes : plan_.arena_blocks) blocks_.push_back(store_.allocate(bytes, plan_.name));
  if (!plan_.naive) own_outputs();
  if (const size_t bytes = planner::host_bytes(plan_)) host_ = neap::allocate(bytes, plan_.name);
}

void RunMemory::own(int b) { buffers_[b] = store_.allocate(plan_.buffers[b].aval.bytes(), plan_.buffers[b].label); }

void RunMemory::own_outputs() {
  for (int b = 0; b < count(); ++b) {
    const auto& buffer = plan_.buffers[b];
    if (!is_own(b) || buffer.offset >= 0) continue;
    if (buffer.last >= buffer.first || roles_.is_output[b]) own(b);
  }
}

bool RunMemory::lives_by_step(int b) const {
  const auto& buffer = plan_.buffers[b];
  const int last_step = static_cast<int>(plan_.steps.size()) - 1;
  return buffer.first >= 0 && buffer.first <= last_step && buffer.first <= buffer.last;
}

void RunMemory::own_untouched_outputs() {
  for (int b = 0; b < count(); ++b) {
    if (is_own(b) && !lives_by_step(b) && roles_.is_output[b]) own(b);
  }
}

void RunMemory::begin(int step) {
  for (int b = 0; b < count(); ++b) {
    if (is_own(b) && lives_by_step(b) && plan_.buffers[b].first == step) own(b);
  }
}

void RunMemory::end(int step) {
  for (int b = 0; b < count(); ++b) {
    if (is_own(b) && lives_by_step(b) && plan_.buffers[b].last == step && !roles_.is_output[b]) buffers_[b].reset();
  }
}

// Which of the arena's allocations an offset is in, and where there.
std::pair<size_t, size_t> RunMemory::place_of(int64_t offset) const {
  auto at = static_cast<size_t>(std::max<int64_t>(offset, 0));
  size_t block = 0;
  while (block < plan_.arena_blocks.size() && at >= plan_.arena_blocks[block]) at -= plan_.arena_blocks[block++];
  return {block, at};
}

uint64_t RunMemory::address(int b) const {
  if (owns(b)) return store_.address(*buffers_[b]);
  const int64_t offset = plan_.buffers[b].offset;
  if (offset < 0) return 0;
  if (arena_) return store_.address(*arena_) + static_cast<uint64_t>(offset);
  const auto [block, at] = place_of(offset);
  return block < blocks_.size() ? store_.address(*blocks_[block]) + at : 0;
}

Range RunMemory::range(uint64_t address, uint64_t bytes) const {
  const auto within = [&](const BufferPtr& buffer) {
    if (!buffer) return false;
    const uint64_t begin = store_.address(*buffer);
    return begin <= address && address + bytes <= begin + buffer->requested();
  };
  const BufferPtr* found = within(arena_) ? &arena_ : nullptr;
  for (const auto* list : {&blocks_, &buffers_}) {
    for (const BufferPtr& buffer : *list) {
      if (!found && within(buffer)) found = &buffer;
    }
  }
  NEAP_CHECK(found, "{}: {} bytes at an address that the run does not hold", plan_.name, bytes);
  const Memory* memory = store_.memory(**found).get();
  return {memory, address - memory->address(), bytes};
}

std::optional<std::vector<Place>> RunMemory::places(const std::vector<int>& viewed) const {
  std::vector<Place> places;
  for (const int b : viewed) {
    const auto [block, at] = place_of(plan_.buffers[b].offset);
    const BufferPtr& arena = blocks_.empty() ? arena_ : blocks_.at(block);
    const MemoryPtr& memory = store_.memory(*(owns(b) ? buffers_[b] : arena));
    const uint64_t offset = owns(b) ? 0 : at;
    if (!device_.can_view({memory.get(), offset, plan_.buffers[b].aval.bytes()})) return std::nullopt;
    places.push_back({memory, offset});
  }
  return places;
}

bool RunMemory::is_donated(int b) const {
  const int input = roles_.input_of[b];
  return input >= 0 && plan_.donated.size() > static_cast<size_t>(input) && plan_.donated[input];
}

// The arena is cut up where outputs lie in it. False: none does.
bool RunMemory::carve_outputs(Ticket ticket) {
  std::vector<std::vector<Piece>> pieces(std::max<size_t>(1, blocks_.size()));
  std::vector<std::vector<int>> owners(pieces.size());
  bool cut = false;
  for (int b = 0; b < count(); ++b) {
    if (!roles_.is_output[b] || root(b) != b || owns(b)) continue;
    const auto [block, at] = place_of(plan_.buffers[b].offset);
    owners[block].push_back(b);
    pieces[block].push_back({at, plan_.buffers[b].aval.bytes()});
    cut = true;
  }
  if (!cut) return false;
  device_.wait(ticket);  // nothing may be running in it
  for (size_t block = 0; block < pieces.size(); ++block) {
    BufferPtr& memory = blocks_.empty() ? arena_ : blocks_[block];
    memory->set_residence(nullptr);
    std::vector<BufferPtr> carved = carve(std::move(memory), pieces[block]);
    for (size_t i = 0; i < carved.size(); ++i) buffers_[owners[block][i]] = std::move(carved[i]);
  }
  return true;
}

std::vector<BufferPtr> RunMemory::results(std::vector<BufferPtr>& inputs, Ticket ticket) {
  if (!carve_outputs(ticket)) {
    for (int b = 0; b < count(); ++b) {
      if (roles_.is_output[b] && (roles_.input_of[b] < 0 || is_donated(b))) store_.written(*buffers_[b], ticket);
    }
  }
  std::vector<BufferPtr> outputs;
  for (const int output : plan_.outputs) {
    const int b = root(output), input = roles_.input_of[b];
    outputs.push_back(input >= 0 && !is_donated(b) ? inputs[input] : buffers_[b]);
  }
  for (size_t i = 0; i < inputs.size() && i < plan_.donated.size(); ++i) {
    if (plan_.donated[i]) inputs[i].reset();
  }
  if (!device_.reached(ticket)) keep(ticket);
  return outputs;
}

void RunMemory::keep(Ticket ticket) {
  std::ranges::move(blocks_, std::back_inserter(buffers_));
  std::erase(buffers_, nullptr);
  store_.keep(ticket, std::move(buffers_), std::move(arena_));
}

void RunMemory::abandon() {
  buffers_.push_back(std::move(arena_));
  std::ranges::move(blocks_, std::back_inserter(buffers_));
  std::erase(buffers_, nullptr);
  store_.abandon(std::move(buffers_));
}

}  // namespace neap::vk
