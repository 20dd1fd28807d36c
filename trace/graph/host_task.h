// What the host computes for one node: a call of a function of the program, or a collective. Backends run it between
// their kernels.
#pragma once

#include <cstddef>
#include <span>
#include <variant>

#include "trace/graph/collective.h"
#include "trace/graph/host_call.h"

namespace neap::tracing {

class HostTask {
 public:
  HostTask(const Node& node, std::span<const Aval> operands);

  /// Returns how many operands it reads: not the last one where that is what an effect before it left.
  size_t reads() const { return reads_; }
  /// Returns whether it exchanges messages with other ranks.
  bool sends() const { return sends_; }
  /// Returns whether it mostly waits for those.
  bool waits() const;
  /// Reads the first reads() operands, and writes the result.
  void run(std::span<const std::byte* const> operands, std::byte* out) const {
    std::visit([&](const auto& task) { task.run(operands.first(reads_), out); }, task_);
  }

 private:
  std::variant<HostCall, Collective> task_;
  size_t reads_;
  bool sends_;
};

}  // namespace neap::tracing
