// A program under construction: dispatches, the barriers between them, and the kernels that they run.
//
// Steps (steps.h) and loops (loop.h, fused_loop.h) all add to one program through it. A kernel gets its pipeline late,
// because those of a small loop's body become stages of one shader and are not compiled by themselves. Tested in
// tests/vulkan/jit_test.cpp and tests/vulkan/loop_test.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/vulkan/addresses.h"
#include "backends/vulkan/device.h"
#include "backends/vulkan/program.h"

namespace neap::vk {

/// Assembly puts a program together, in the order of its commands.
class Assembly {
 public:
  /// Emit makes a kernel's shader, for the device or for a stage of a loop.
  using Emit = std::function<Shader(const Choices&)>;

  /// Kernel is what a dispatch runs, before it has a pipeline.
  struct Kernel {
    Shader shader;
    std::string name;
    Emit emit;  // null: it cannot become a stage of a loop
    const Pipeline* pipeline = nullptr;
  };

  /// Access names buffers of a plan: the operands of a dispatch in order, and those that it reads and writes.
  struct Access {
    std::vector<int> operands, reads, writes;
  };

  /// The arguments are those of compile_program(); `dump_name` lives longer.
  Assembly(Device& device, const std::string& dump_name, bool views);
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  const Choices& choices() const { return device_.choices(); }
  /// Returns whether kernels may read through texel buffers.
  bool views() const { return views_; }
  Addresses& addresses() { return addresses_; }

  /// Adds the dispatches of a shader, after a barrier where one is needed. `number` is the Push::count of the first.
  void dispatch(Scope& scope, std::vector<Command>& list, const Shader& shader, const std::string& name,
                const Access& access, uint32_t number = 0);
  /// Does the same for a kernel that may become a stage of a loop.
  void dispatch(Scope& scope, std::vector<Command>& list, Emit emit, const std::string& name, const Access& access);
  /// Adds a copy of `bytes` between buffers of the scope.
  void copy(Scope& scope, std::vector<Command>& list, int from, int to, uint64_t bytes);
  /// Adds a barrier, unless the list ends with one.
  static void barrier(Scope& scope, std::vector<Command>& list);

  /// Returns a dispatch of the kernel; the caller sets its operands.
  Command add_kernel(Kernel kernel);
  const Kernel& kernel(const Command& dispatch) const { return kernels_[static_cast<size_t>(dispatch.kernel)]; }
  /// Adds a step of the host and returns its number.
  int add_host_step(HostStep step);

  /// Gives a dispatch its pipeline, if it has none.
  void make_pipeline(Command& command);
  /// Does the same for every dispatch of the list. Those in the bodies of its loops already have theirs.
  void make_pipelines(std::vector<Command>& list);

  /// Returns the program, which takes `commands`.
  Program finish(std::vector<Command> commands);

 private:
  std::string file_name(const std::string& what);

  Device& device_;
  const std::string& dump_name_;
  const bool views_;
  Program program_;
  Addresses addresses_{program_};
  std::vector<Kernel> kernels_;
  int named_ = 0;  // kernels that have a file name
};

}  // namespace neap::vk
