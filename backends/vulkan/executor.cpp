// Commands recorded once and replayed, addresses written anew for each run.
#include "backends/vulkan/executor.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string>

#include "backends/vulkan/device.h"
#include "backends/vulkan/program.h"
#include "backends/vulkan/recording.h"
#include "backends/vulkan/residence.h"
#include "core/check.h"

namespace neap::vk {
namespace {

using planner::PlanData;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A plan's buffers during one run.
struct Held {
  std::vector<BufferPtr> buffers;  // of each root; null while it has no memory
  BufferPtr arena;
  std::vector<BufferPtr> blocks;  // of an arena of several allocations
  BufferPtr host;                 // for what the host computes, unless it does so in place
};

class VulkanExecutable final : public backends::Executable {
 public:
  VulkanExecutable(PlanData plan, std::shared_ptr<Device> device, const std::string& dump_name)
      : plan_(std::move(plan)),
        device_(std::move(device)),
        store_(Store::of(device_)),
        dump_name_(dump_name),
        form_(compile_program(plan_, *device_, dump_name_, !plan_.naive)),
        input_of_(plan_.buffers.size(), -1),
        is_output_(plan_.buffers.size(), false) {
    for (size_t i = 0; i < plan_.inputs.size(); ++i) input_of_[plan_.inputs[i]] = static_cast<int>(i);
    for (const int b : plan_.outputs) is_output_[root(b)] = true;
  }

  const PlanData& plan() const override { return plan_; }
  bool usable() const override { return Device::get(device_->index()) == device_; }

  std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs,
                             std::vector<backends::StepTiming>* timings) const override {
    NEAP_CHECK(inputs.size() == plan_.inputs.size(), "{}: {} inputs for {}", plan_.name, inputs.size(),
               plan_.inputs.size());
    const std::lock_guard lock(mutex_);  // a table serves one run at a time
    Held held;
    held.buffers.resize(plan_.buffers.size());
    try {
      return run(inputs, timings, held);
    } catch (...) {  // the arena may be that of an earlier run, and a part of this one may have been submitted
      held.buffers.push_back(std::move(held.arena));
      std::ranges::move(held.blocks, std::back_inserter(held.buffers));
      std::erase(held.buffers, nullptr);
      store_.abandon(std::move(held.buffers));
      throw;
    }
  }

 private:
  /// A program and the recordings that run it.
  struct Form {
    explicit Form(Program made) : program(std::move(made)) {}
    Program program;
    std::vector<std::unique_ptr<Recording>> recordings, timed;
  };

  int root(int b) const { return plan_.root(b); }

  std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs, std::vector<backends::StepTiming>* timings,
                             Held& held) const {
    const bool whole = !plan_.naive && plan_.arena_blocks.empty();
    held.arena = store_.make_room(whole ? plan_.arena_bytes : 0);
    Form* form = &form_;
    Recording* recording = &free_recording(*form, timings != nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
      held.buffers[plan_.inputs[i]] = store_.bring(inputs[i], plan_.buffers[plan_.inputs[i]].label);
    }
    if (!held.arena && whole && plan_.arena_bytes > 0) held.arena = store_.allocate(plan_.arena_bytes, plan_.name);
    for (const size_t bytes : plan_.arena_blocks) held.blocks.push_back(store_.allocate(bytes, plan_.name));
    if (!plan_.naive) own_outputs(held);
    if (const size_t bytes = planner::host_bytes(plan_)) held.host = neap::allocate(bytes, plan_.name);
    if (auto places = places_of(form->program, held)) {
      recording->view(std::move(*places));
    } else {
      if (!plain_) plain_ = std::make_unique<Form>(compile_program(plan_, *device_, dump_name_, false));
      form = plain_.get();
      recording = &free_recording(*form, timings != nullptr);
    }
    const double begin = now();
    const Ticket ticket =
        plan_.naive ? run_naive(*recording, form->program, held) : run_planned(*recording, form->program, held);
    if (timings) {
      device_->wait(ticket);
      const std::vector<double> times = recording->times();
      for (size_t s = 0; s + 1 < times.size(); ++s) {
        if (!std::isfinite(times[s + 1] - times[0])) continue;  // a queue without a clock
        timings->push_back({static_cast<int>(s), begin + times[s] - times[0], begin + times[s + 1] - times[0]});
      }
    }
    return results(inputs, held, ticket);
  }

  /// One whose last run has finished; at most two are made of a kind.
  Recording& free_recording(Form& form, bool timed) const {
    auto& recordings = timed ? form.timed : form.recordings;
    constexpr size_t kRecordings = 2;
    for (const auto& recording : recordings) {
      if (device_->reached(recording->ticket())) return *recording;
    }
    if (recordings.size() < kRecordings) {
      recordings.push_back(std::make_unique<Recording>(*device_, form.program, plan_.naive, timed));
      recordings.back()->set_records();
      return *recordings.back();
    }
    device_->wait(recordings[0]->ticket());
    return *recordings[0];
  }

  void own(Held& held, int b) const {
    held.buffers[b] = store_.allocate(plan_.buffers[b].aval.bytes(), plan_.buffers[b].label);
  }

  /// Which of the arena's allocations an offset is in, and where there.
  std::pair<size_t, size_t> place_of(int64_t offset) const {
    auto at = static_cast<size_t>(std::max<int64_t>(offset, 0));
    size_t block = 0;
    while (block < plan_.arena_blocks.size() && at >= plan_.arena_blocks[block]) at -= plan_.arena_blocks[block++];
    return {block, at};
  }

  /// Where the program's viewed buffers are; none when one of them lies where a view cannot begin.
  std::optional<std::vector<Place>> places_of(const Program& program, const Held& held) const {
    std::vector<Place> places;
    for (const int b : program.viewed) {
      const auto [block, at] = place_of(plan_.buffers[b].offset);
      const BufferPtr& arena = held.blocks.empty() ? held.arena : held.blocks.at(block);
      const MemoryPtr& memory = store_.memory(*(held.buffers[b] ? held.buffers[b] : arena));
      const uint64_t offset = held.buffers[b] ? 0 : at;
      if (!device_->can_view({memory.get(), offset, plan_.buffers[b].aval.bytes()})) return std::nullopt;
      places.push_back({memory, offset});
    }
    return places;
  }

  void own_outputs(Held& held) const {
    for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
      const auto& buffer = plan_.buffers[b];
      if (root(b) != b || input_of_[b] >= 0 || buffer.offset >= 0) continue;
      if (buffer.last >= buffer.first || is_output_[b]) own(held, b);
    }
  }

  Ticket run_planned(Recording& recording, const Program& program, const Held& held) const {
    const auto in_arena = [&](int64_t offset) {
      if (held.arena) return store_.address(*held.arena) + static_cast<uint64_t>(offset);
      const auto [block, at] = place_of(offset);
      return block < held.blocks.size() ? store_.address(*held.blocks[block]) + at : 0;
    };
    for (const Program::Entry& e : program.entries) {
      if (e.buffer < 0) continue;
      const auto offset = plan_.buffers[e.buffer].offset;
      const uint64_t base = held.buffers[e.buffer] ? store_.address(*held.buffers[e.buffer])
                            : offset >= 0          ? in_arena(offset)
                                                   : 0;
      recording.set(e.entry, base + static_cast<uint64_t>(e.shift));
    }
    return recording.submit([&](const HostStep& step, auto addresses) { compute(step, addresses, held); });
  }

  /// What the host does for a step.
  void compute(const HostStep& step, std::span<const uint64_t> addresses, const Held& held) const {
    std::vector<Range> operands;
    for (size_t i = 0; i < addresses.size(); ++i) {
      operands.push_back(step.bytes[i] > 0 ? range_of(held, addresses[i], step.bytes[i]) : Range{});
    }
    vk::run(step, operands, *device_, held.host ? held.host->data() : nullptr);
  }

  /// Where the bytes at an address are.
  Range range_of(const Held& held, uint64_t address, uint64_t bytes) const {
    const auto within = [&](const BufferPtr& buffer) {
      if (!buffer) return false;
      const uint64_t begin = store_.address(*buffer);
      return begin <= address && address + bytes <= begin + buffer->requested();
    };
    const BufferPtr* found = within(held.arena) ? &held.arena : nullptr;
    for (const auto* list : {&held.blocks, &held.buffers}) {
      for (const BufferPtr& buffer : *list) {
        if (!found && within(buffer)) found = &buffer;
      }
    }
    NEAP_CHECK(found, "{}: {} bytes at an address that the run does not hold", plan_.name, bytes);
    const Memory* memory = store_.memory(**found).get();
    return {memory, address - memory->address(), bytes};
  }

  /// Every buffer has memory of its own from its first step to its last; each step is waited for.
  Ticket run_naive(Recording& recording, const Program& program, Held& held) const {
    const int last_step = static_cast<int>(plan_.steps.size()) - 1;
    const auto set_addresses = [&] {
      for (const Program::Entry& e : program.entries) {
        if (e.buffer < 0 || !held.buffers[e.buffer]) continue;
        recording.set(e.entry, store_.address(*held.buffers[e.buffer]) + static_cast<uint64_t>(e.shift));
      }
    };
    const auto is_own = [&](int b) { return root(b) == b && input_of_[b] < 0; };
    const auto lives_by_step = [&](int b) {
      const auto& buffer = plan_.buffers[b];
      return buffer.first >= 0 && buffer.first <= last_step && buffer.first <= buffer.last;
    };
    const int count = static_cast<int>(plan_.buffers.size());
    for (int b = 0; b < count; ++b) {
      if (is_own(b) && !lives_by_step(b) && is_output_[b]) own(held, b);
    }
    Ticket ticket = 0;
    for (int s = 0; s <= last_step; ++s) {
      for (int b = 0; b < count; ++b) {
        if (is_own(b) && lives_by_step(b) && plan_.buffers[b].first == s) own(held, b);
      }
      set_addresses();
      ticket = recording.submit([&](const HostStep& step, auto addresses) { compute(step, addresses, held); },
                                static_cast<size_t>(s));
      device_->wait(ticket);
      for (int b = 0; b < count; ++b) {
        if (is_own(b) && lives_by_step(b) && plan_.buffers[b].last == s && !is_output_[b]) held.buffers[b].reset();
      }
    }
    return ticket;
  }

  std::vector<BufferPtr> results(std::vector<BufferPtr>& inputs, Held& held, Ticket ticket) const {
    const auto in_arena = [&](int b) { return !held.buffers[b]; };
    std::vector<std::vector<Piece>> pieces(std::max<size_t>(1, held.blocks.size()));
    std::vector<std::vector<int>> owners(pieces.size());
    bool cut = false;
    for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
      if (!is_output_[b] || root(b) != b || !in_arena(b)) continue;
      const auto offset = std::max<int64_t>(plan_.buffers[b].offset, 0);
      const auto [block, at] =
          held.blocks.empty() ? std::pair(size_t{0}, static_cast<size_t>(offset)) : place_of(offset);
      owners[block].push_back(b);
      pieces[block].push_back({at, plan_.buffers[b].aval.bytes()});
      cut = true;
    }
    if (cut) {  // the arena is cut up: nothing may be running in it
      device_->wait(ticket);
      for (size_t block = 0; block < pieces.size(); ++block) {
        BufferPtr& memory = held.blocks.empty() ? held.arena : held.blocks[block];
        memory->set_residence(nullptr);
        std::vector<BufferPtr> carved = carve(std::move(memory), pieces[block]);
        for (size_t i = 0; i < carved.size(); ++i) held.buffers[owners[block][i]] = std::move(carved[i]);
      }
    } else {
      for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
        const bool donated = input_of_[b] >= 0 && plan_.donated.size() > static_cast<size_t>(input_of_[b]) &&
                             plan_.donated[input_of_[b]];
        if (is_output_[b] && (input_of_[b] < 0 || donated)) store_.written(*held.buffers[b], ticket);
      }
    }
    std::vector<BufferPtr> outputs;
    for (const int output : plan_.outputs) {
      const int b = root(output);
      const bool returned = input_of_[b] >= 0 &&
                            !(plan_.donated.size() > static_cast<size_t>(input_of_[b]) && plan_.donated[input_of_[b]]);
      outputs.push_back(returned ? inputs[input_of_[b]] : held.buffers[b]);
    }
    for (size_t i = 0; i < inputs.size() && i < plan_.donated.size(); ++i) {
      if (plan_.donated[i]) inputs[i].reset();
    }
    if (!device_->reached(ticket)) {
      std::vector<BufferPtr> keep;
      std::ranges::move(held.blocks, std::back_inserter(held.buffers));
      for (BufferPtr& buffer : held.buffers) {
        if (buffer) keep.push_back(std::move(buffer));
      }
      store_.keep(ticket, std::move(keep), std::move(held.arena));
    }
    return outputs;
  }

  PlanData plan_;
  std::shared_ptr<Device> device_;
  Store& store_;
  std::string dump_name_;
  mutable Form form_;
  mutable std::unique_ptr<Form> plain_;  // without views; made when an array lies where none can begin
  std::vector<int> input_of_;            // plan input that a buffer is, or -1
  std::vector<bool> is_output_;          // of roots
  mutable std::mutex mutex_;
};

}  // namespace

std::shared_ptr<const backends::Executable> compile_plan(PlanData plan, std::shared_ptr<Device> device,
                                                         const std::string& dump_name) {
  return std::make_shared<VulkanExecutable>(std::move(plan), std::move(device), dump_name);
}

}  // namespace neap::vk
