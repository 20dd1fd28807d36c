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
#include "backends/vulkan/residence.h"
#include "core/check.h"
#include "core/function_ref.h"

namespace neap::vk {
namespace {

using planner::PlanData;

constexpr int64_t kUnroll = 16;       // iterations of a short loop's body in one command buffer
constexpr size_t kUnrollBelow = 256;  // ops of such a body

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Where a plan buffer is in one run. What it is compared with later may be gone by then.
struct Place {
  std::weak_ptr<const Memory> memory;
  uint64_t offset = 0;
};

/// A table of addresses, and the commands that read it: one run uses them at a time.
class Instance {
 public:
  Instance(Device& device, const Program& program, bool by_step, bool timed)
      : device_(device), program_(program), by_step_(by_step), timed_(timed) {
    const size_t entries = program.num_entries * sizeof(uint64_t);
    records_at_ = (entries + 15) / 16 * 16;
    flags_at_ = (records_at_ + program.records.size() * sizeof(BindRecord) + 63) / 64 * 64;
    const size_t bytes = flags_at_ + static_cast<size_t>(program.num_flags * Program::kFlagBytes);
    table_ = device.allocate(std::max<size_t>(bytes, 64), true, "table of addresses");
    std::ranges::copy(std::as_bytes(std::span(program.records)), table_->mapped() + records_at_);
    if (program.viewed.empty()) record();
  }

  /// Where the buffers of Program::viewed are in the next run.
  void view(std::vector<Place> places) {
    const auto same = [](const Place& a, const Place& b) {
      return !a.memory.owner_before(b.memory) && !b.memory.owner_before(a.memory) && a.offset == b.offset;
    };
    if (std::ranges::equal(places, places_, same)) return;
    places_ = std::move(places);
    try {
      record();
    } catch (...) {
      places_.clear();  // the next run begins anew
      throw;
    }
  }

  void set(uint32_t entry, uint64_t address) {
    std::memcpy(table_->mapped() + entry * sizeof(uint64_t), &address, sizeof address);
  }
  void set_records() {
    for (const Program::Entry& e : program_.entries) {
      if (e.buffer >= 0) continue;
      const size_t begin = e.buffer == Program::kRecords ? records_at_ : flags_at_;
      set(e.entry, table_->address() + begin + static_cast<uint64_t>(e.shift));
    }
  }

  /// What the host computes, given the addresses of its operands.
  using Host = FunctionRef<void(const HostStep&, std::span<const uint64_t>)>;

  /// All steps, or step `step` alone (made by_step). Returns when the last is submitted.
  Ticket submit(Host host, std::optional<size_t> step = {}) {
    std::span<const Part> all(parts_);
    if (step) all = all.subspan(marks_[*step], marks_[*step + 1] - marks_[*step]);
    submitted_ = false;
    run(all, host);
    if (!submitted_) submit(std::span<Commands* const>());
    return ticket_;
  }
  Ticket ticket() const { return ticket_; }

  /// Device seconds at the end of each step, and before the first.
  std::vector<double> times() const {
    std::vector<double> seconds;
    for (const Commands* clock : clocks_) seconds.push_back(clock->timestamps().at(0));
    return seconds;
  }

 private:
  /// What is submitted at once, or what the host computes, or a loop that it goes through: because of flags, which
  /// decide how often the body runs, or of what it computes there.
  struct Part {
    std::vector<Commands*> commands;  // in order; other loops repeat theirs
    const Op* op = nullptr;
    std::vector<Part> body;
  };

  void submit(std::span<Commands* const> commands) {
    ticket_ = device_.submit(commands, {table_});
    submitted_ = true;
  }

  void run(std::span<const Part> parts, const Host& host) {
    for (const Part& part : parts) {
      if (!part.op) {
        if (!part.commands.empty()) submit(part.commands);
      } else if (part.op->kind == Op::Kind::host) {
        if (!submitted_) submit(std::span<Commands* const>());  // after the work of earlier runs
        device_.wait(ticket_);
        std::vector<uint64_t> addresses(part.op->count);
        std::memcpy(addresses.data(), table_->mapped() + part.op->first * sizeof(uint64_t), addresses.size() * 8);
        host(program_.host_steps[static_cast<size_t>(part.op->host)], addresses);
      } else {
        for (int64_t i = 0; i < part.op->times; ++i) {
          if (part.op->flag >= 0 && !is_set(part.op->flag)) break;
          run(part.body, host);
        }
      }
    }
  }

  /// A flag as the work that was submitted leaves it.
  bool is_set(int flag) {
    device_.wait(ticket_);
    return table_->mapped()[flags_at_ + static_cast<size_t>(flag * Program::kFlagBytes)] != std::byte{0};
  }

  static bool needs_host(const Op& op) {
    if (op.kind == Op::Kind::host) return true;
    return op.kind == Op::Kind::loop && (op.flag >= 0 || std::ranges::any_of(op.body, needs_host));
  }

  static void append(std::vector<Part>& parts, Commands* commands) {
    if (parts.empty() || parts.back().op) parts.emplace_back();
    parts.back().commands.push_back(commands);
  }

  void record() {
    current_.reset();
    parts_.clear();
    clocks_.clear();
    commands_.clear();
    marks_.assign(1, 0);
    if (timed_) stamp();
    walk(program_.ops, parts_);
    flush(parts_);
  }

  std::vector<BoundView> bound(const Op& op) const {
    std::vector<BoundView> views;
    for (const PlanView& v : op.views) {
      const auto number = std::ranges::find(program_.viewed, v.buffer) - program_.viewed.begin();
      const Place& place = places_[static_cast<size_t>(number)];
      views.push_back({v.view, {place.memory.lock().get(), place.offset + static_cast<uint64_t>(v.shift), v.bytes}});
    }
    return views;
  }

  void walk(const std::vector<Op>& ops, std::vector<Part>& list) {
    for (const Op& op : ops) {
      switch (op.kind) {
        case Op::Kind::dispatch:
          current().dispatch(*op.pipeline, {table_->address(), op.first, op.count}, op.groups, bound(op));
          break;
        case Op::Kind::barrier: current().barrier(); break;
        case Op::Kind::loop: loop(op, list); break;
        case Op::Kind::host:
          flush(list);
          list.emplace_back().op = &op;
          break;
        case Op::Kind::step:
          if (!by_step_ && !timed_) break;
          flush(list);
          if (timed_) stamp();
          marks_.push_back(list.size());
          if (by_step_) list.emplace_back();
          break;
      }
    }
  }

  void loop(const Op& op, std::vector<Part>& list) {
    flush(list);
    if (needs_host(op)) {
      Part part;
      part.op = &op;
      walk(op.body, part.body);
      flush(part.body);
      list.push_back(std::move(part));
      return;
    }
    const bool nested = std::ranges::any_of(op.body, [](const Op& o) { return o.kind == Op::Kind::loop; });
    const int64_t unroll = nested || op.body.size() > kUnrollBelow ? 1 : std::min(kUnroll, op.times);
    const auto repeat = [&](int64_t copies, int64_t times) {
      std::vector<Part> once;
      for (int64_t i = 0; i < copies; ++i) walk(op.body, once);
      flush(once);
      for (int64_t i = 0; i < times; ++i)
        for (const Part& part : once)
          for (Commands* commands : part.commands) append(list, commands);
    };
    repeat(unroll, op.times / unroll);
    if (op.times % unroll) repeat(op.times % unroll, 1);
  }

  Commands& current() {
    if (!current_) current_ = device_.record(0);
    return *current_;
  }

  // A command buffer of its own, since a step may have several and loops repeat theirs.
  void stamp() {
    auto clock = device_.record(1);
    clock->timestamp(0);
    clock->end();
    clocks_.push_back(clock.get());
    append(parts_, clock.get());
    commands_.push_back(std::move(clock));
  }

  void flush(std::vector<Part>& list) {
    if (!current_) return;
    current_->end();
    append(list, current_.get());
    commands_.push_back(std::move(current_));
  }

  Device& device_;
  const Program& program_;
  bool by_step_, timed_;
  size_t records_at_ = 0, flags_at_ = 0;
  MemoryPtr table_;
  std::unique_ptr<Commands> current_;
  std::vector<std::unique_ptr<Commands>> commands_;
  std::vector<Part> parts_;
  std::vector<size_t> marks_;      // where each step begins among them, by_step or timed
  std::vector<Commands*> clocks_;  // one before the first step and one after each
  std::vector<Place> places_;      // that the commands were recorded for
  Ticket ticket_ = 0;
  bool submitted_ = false;  // anything, since submit() was called
};

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
  /// A program and the instances that run it.
  struct Form {
    explicit Form(Program made) : program(std::move(made)) {}
    Program program;
    std::vector<std::unique_ptr<Instance>> instances, timed;
  };

  int root(int b) const { return plan_.root(b); }

  std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs, std::vector<backends::StepTiming>* timings,
                             Held& held) const {
    const bool whole = !plan_.naive && plan_.arena_blocks.empty();
    held.arena = store_.make_room(whole ? plan_.arena_bytes : 0);
    Form* form = &form_;
    Instance* instance = &free_instance(*form, timings != nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
      held.buffers[plan_.inputs[i]] = store_.bring(inputs[i], plan_.buffers[plan_.inputs[i]].label);
    }
    if (!held.arena && whole && plan_.arena_bytes > 0) held.arena = store_.allocate(plan_.arena_bytes, plan_.name);
    for (const size_t bytes : plan_.arena_blocks) held.blocks.push_back(store_.allocate(bytes, plan_.name));
    if (!plan_.naive) own_outputs(held);
    if (const size_t bytes = planner::host_bytes(plan_)) held.host = neap::allocate(bytes, plan_.name);
    if (auto places = places_of(form->program, held)) {
      instance->view(std::move(*places));
    } else {
      if (!plain_) plain_ = std::make_unique<Form>(compile_program(plan_, *device_, dump_name_, false));
      form = plain_.get();
      instance = &free_instance(*form, timings != nullptr);
    }
    const double begin = now();
    const Ticket ticket =
        plan_.naive ? run_naive(*instance, form->program, held) : run_planned(*instance, form->program, held);
    if (timings) {
      device_->wait(ticket);
      const std::vector<double> times = instance->times();
      for (size_t s = 0; s + 1 < times.size(); ++s) {
        if (!std::isfinite(times[s + 1] - times[0])) continue;  // a queue without a clock
        timings->push_back({static_cast<int>(s), begin + times[s] - times[0], begin + times[s + 1] - times[0]});
      }
    }
    return results(inputs, held, ticket);
  }

  /// One whose last run has finished; at most two are made of a kind.
  Instance& free_instance(Form& form, bool timed) const {
    auto& instances = timed ? form.timed : form.instances;
    constexpr size_t kInstances = 2;
    for (const auto& instance : instances) {
      if (device_->reached(instance->ticket())) return *instance;
    }
    if (instances.size() < kInstances) {
      instances.push_back(std::make_unique<Instance>(*device_, form.program, plan_.naive, timed));
      instances.back()->set_records();
      return *instances.back();
    }
    device_->wait(instances[0]->ticket());
    return *instances[0];
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

  Ticket run_planned(Instance& instance, const Program& program, const Held& held) const {
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
      instance.set(e.entry, base + static_cast<uint64_t>(e.shift));
    }
    return instance.submit([&](const HostStep& step, auto addresses) { compute(step, addresses, held); });
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
  Ticket run_naive(Instance& instance, const Program& program, Held& held) const {
    const int last_step = static_cast<int>(plan_.steps.size()) - 1;
    const auto set_addresses = [&] {
      for (const Program::Entry& e : program.entries) {
        if (e.buffer < 0 || !held.buffers[e.buffer]) continue;
        instance.set(e.entry, store_.address(*held.buffers[e.buffer]) + static_cast<uint64_t>(e.shift));
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
      ticket = instance.submit([&](const HostStep& step, auto addresses) { compute(step, addresses, held); },
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
