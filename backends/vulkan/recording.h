// The commands of a program, recorded once and replayed, and the table of addresses that they read.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/vulkan/device.h"
#include "backends/vulkan/program.h"
#include "core/function_ref.h"

namespace neap::vk {

/// Place is where a plan buffer is in one run. The memory may be gone when a later place is compared with it.
struct Place {
  std::weak_ptr<const Memory> memory;
  uint64_t offset = 0;
};

/// Recording is a table of addresses, and the commands that read it: one run uses them at a time.
class Recording {
 public:
  Recording(Device& device, const Program& program, bool by_step, bool timed);

  /// Says where the buffers of Program::viewed are in the next run; if they have moved, the commands are recorded anew.
  void view(std::vector<Place> places);
  void set(uint32_t entry, uint64_t address);
  void set_records();

  /// Host is what the host computes, given the addresses of its operands.
  using Host = FunctionRef<void(const HostStep&, std::span<const uint64_t>)>;

  /// Submits all steps, or step `step` alone (made by_step). Returns when the last is submitted.
  Ticket submit(Host host, std::optional<size_t> step = {});
  Ticket ticket() const { return ticket_; }

  /// Returns device seconds before the first step, and at the end of each.
  std::vector<double> times() const;

 private:
  /// Part is what is submitted at once, or what the host computes, or a loop that the host goes through: because of
  /// flags, which decide how often the body runs, or of what it computes there.
  struct Part {
    std::vector<Commands*> commands;  // in order; other loops repeat theirs
    const Command* command = nullptr;
    std::vector<Part> body;
  };

  void submit(std::span<Commands* const> commands);
  void run(std::span<const Part> parts, const Host& host);
  /// Returns a flag as the work that was submitted leaves it.
  bool is_set(int flag);
  static bool needs_host(const Command& command);
  static void append(std::vector<Part>& parts, Commands* commands);
  void record();
  std::vector<BoundView> bound(const Command& command) const;
  void walk(const std::vector<Command>& commands, std::vector<Part>& list);
  void loop(const Command& command, std::vector<Part>& list);
  Commands& current();
  // Adds a command buffer of its own, since a step may have several and loops repeat theirs.
  void stamp();
  void flush(std::vector<Part>& list);

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

}  // namespace neap::vk
