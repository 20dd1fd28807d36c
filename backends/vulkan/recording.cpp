#include "backends/vulkan/recording.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/progress.h"

namespace neap::vk {

namespace {

// How they were chosen is not on record; `neap-bench --case random-loop,rollout --device vulkan` has loops to measure.
constexpr int64_t kUnroll = 16;       // iterations of a short loop's body in one command buffer
constexpr size_t kUnrollBelow = 256;  // commands of such a body, at most

}  // namespace

Recording::Recording(Device& device, const Program& program, bool by_step, bool timed)
    : device_(device), program_(program), by_step_(by_step), timed_(timed) {
  const size_t entries = program.num_entries * sizeof(uint64_t);
  records_at_ = (entries + 15) / 16 * 16;
  flags_at_ = (records_at_ + program.records.size() * sizeof(BindRecord) + 63) / 64 * 64;
  const size_t bytes = flags_at_ + static_cast<size_t>(program.num_flags * Program::kFlagBytes);
  table_ = device.allocate(std::max<size_t>(bytes, 64), true, "table of addresses");
  std::ranges::copy(std::as_bytes(std::span(program.records)), table_->mapped() + records_at_);
  if (program.viewed.empty()) record();
}

void Recording::view(std::vector<Place> places) {
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

void Recording::set(uint32_t entry, uint64_t address) {
  std::memcpy(table_->mapped() + entry * sizeof(uint64_t), &address, sizeof address);
}

void Recording::set_records() {
  for (const Program::Entry& e : program_.entries) {
    if (e.buffer >= 0) continue;
    const size_t begin = e.buffer == Program::kRecords ? records_at_ : flags_at_;
    set(e.entry, table_->address() + begin + static_cast<uint64_t>(e.shift));
  }
}

Ticket Recording::submit(Host host, std::optional<size_t> step) {
  std::span<const Part> all(parts_);
  if (step) all = all.subspan(marks_[*step], marks_[*step + 1] - marks_[*step]);
  submitted_ = false;
  run(all, host);
  if (!submitted_) submit(std::span<Commands* const>());
  return ticket_;
}

std::vector<double> Recording::times() const {
  std::vector<double> seconds;
  for (const Commands* clock : clocks_) seconds.push_back(clock->timestamps().at(0));
  return seconds;
}

void Recording::submit(std::span<Commands* const> commands) {
  ticket_ = device_.submit(commands, {table_});
  submitted_ = true;
}

void Recording::run(std::span<const Part> parts, const Host& host) {
  for (const Part& part : parts) {
    if (!part.command) {
      if (!part.commands.empty()) submit(part.commands);
    } else if (part.command->kind == Command::Kind::host) {
      if (!submitted_) submit(std::span<Commands* const>());  // after the work of earlier runs
      device_.wait(ticket_);
      std::vector<uint64_t> addresses(part.command->count);
      std::memcpy(addresses.data(), table_->mapped() + part.command->first * sizeof(uint64_t), addresses.size() * 8);
      host(program_.host_steps[static_cast<size_t>(part.command->host)], addresses);
    } else {
      std::optional<Progress> progress;
      if (progress_on() && part.command->times > 1)
        progress.emplace("loop", "iteration", part.command->flag < 0 ? part.command->times : 0);
      for (int64_t i = 0; i < part.command->times; ++i) {
        if (part.command->flag >= 0 && !is_set(part.command->flag)) break;
        run(part.body, host);
        if (progress) progress->at(i + 1);
      }
    }
  }
}

bool Recording::is_set(int flag) {
  device_.wait(ticket_);
  return table_->mapped()[flags_at_ + static_cast<size_t>(flag * Program::kFlagBytes)] != std::byte{0};
}

bool Recording::needs_host(const Command& command) {
  if (command.kind == Command::Kind::host) return true;
  return command.kind == Command::Kind::loop && (command.flag >= 0 || std::ranges::any_of(command.body, needs_host));
}

void Recording::append(std::vector<Part>& parts, Commands* commands) {
  if (parts.empty() || parts.back().command) parts.emplace_back();
  parts.back().commands.push_back(commands);
}

void Recording::record() {
  current_.reset();
  parts_.clear();
  clocks_.clear();
  commands_.clear();
  marks_.assign(1, 0);
  if (timed_) stamp();
  walk(program_.commands, parts_);
  flush(parts_);
}

std::vector<BoundView> Recording::bound(const Command& command) const {
  std::vector<BoundView> views;
  for (const PlanView& v : command.views) {
    const auto number = std::ranges::find(program_.viewed, v.buffer) - program_.viewed.begin();
    const Place& place = places_[static_cast<size_t>(number)];
    views.push_back({v.view, {place.memory.lock().get(), place.offset + static_cast<uint64_t>(v.shift), v.bytes}});
  }
  return views;
}

void Recording::walk(const std::vector<Command>& commands, std::vector<Part>& list) {
  for (const Command& command : commands) {
    switch (command.kind) {
      case Command::Kind::dispatch:
        current().dispatch(*command.pipeline, {table_->address(), command.first, command.count}, command.groups,
                           bound(command));
        break;
      case Command::Kind::barrier: current().barrier(); break;
      case Command::Kind::loop: loop(command, list); break;
      case Command::Kind::host:
        flush(list);
        list.emplace_back().command = &command;
        break;
      case Command::Kind::step:
        if (!by_step_ && !timed_) break;
        flush(list);
        if (timed_) stamp();
        marks_.push_back(list.size());
        if (by_step_) list.emplace_back();
        break;
    }
  }
}

void Recording::loop(const Command& command, std::vector<Part>& list) {
  flush(list);
  if (needs_host(command)) {
    Part part;
    part.command = &command;
    walk(command.body, part.body);
    flush(part.body);
    list.push_back(std::move(part));
    return;
  }
  const bool nested = std::ranges::any_of(command.body, [](const Command& o) { return o.kind == Command::Kind::loop; });
  const int64_t unroll = nested || command.body.size() > kUnrollBelow ? 1 : std::min(kUnroll, command.times);
  const auto repeat = [&](int64_t copies, int64_t times) {
    std::vector<Part> once;
    for (int64_t i = 0; i < copies; ++i) walk(command.body, once);
    flush(once);
    for (int64_t i = 0; i < times; ++i)
      for (const Part& part : once)
        for (Commands* commands : part.commands) append(list, commands);
  };
  repeat(unroll, command.times / unroll);
  if (command.times % unroll) repeat(command.times % unroll, 1);
}

Commands& Recording::current() {
  if (!current_) current_ = device_.record(0);
  return *current_;
}

void Recording::stamp() {
  auto clock = device_.record(1);
  clock->timestamp(0);
  clock->end();
  clocks_.push_back(clock.get());
  append(parts_, clock.get());
  commands_.push_back(std::move(clock));
}

void Recording::flush(std::vector<Part>& list) {
  if (!current_) return;
  current_->end();
  append(list, current_.get());
  commands_.push_back(std::move(current_));
}

}  // namespace neap::vk
