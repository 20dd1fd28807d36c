#include "backends/vulkan/fused_loop.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace neap::vk {

namespace {

// Fused, 10^5 iterations of normal[100] and its sum took 0.67 s in place of 19.5 on llvmpipe; what other limits would
// do is not on record. To measure: `neap-bench --case random-loop --form scan --device vulkan`. On llvmpipe
// Choices::most_iterations may be the lower limit.
constexpr int64_t kIterationsAtOnce = 4096;    // iterations of a body in a dispatch, at most
constexpr int64_t kFewerIterations = 16;       // iterations in a dispatch; fewer are not worth it
constexpr int64_t kLongestDispatch = 1 << 20;  // turns of all loops of an invocation, where the driver sets no limit
constexpr uint32_t kLeastWorkgroup = 32;       // invocations of the one workgroup
constexpr uint32_t kMostGroups = 8;            // workgroups of a kernel by itself, whose work one takes over

// The first of the operands of all kernels; none when one of them cannot become a stage.
std::optional<uint32_t> first_operand(const Assembly& assembly, const std::vector<Command>& body, uint32_t first) {
  for (const Command& command : body) {
    if (command.kind == Command::Kind::barrier) continue;
    if (command.kind != Command::Kind::dispatch || command.kernel < 0) return std::nullopt;
    const Assembly::Kernel& kernel = assembly.kernel(command);
    const auto& groups = kernel.shader.groups;
    if (!kernel.emit || kernel.shader.dispatches != 1 || groups[0] > kMostGroups || groups[1] * groups[2] > 1) {
      return std::nullopt;
    }
    first = std::min(first, command.first);
  }
  return first;
}

// Kernels that make do with one workgroup of `size` invocations.
Choices of_one_workgroup(Choices choices, uint32_t size, uint32_t largest) {
  choices.one_workgroup = true;
  choices.workgroup = choices.reduce_workgroup = size;
  if (!choices.cpu && size < largest) choices.elements = 1;
  return choices;
}

// The kernels as stages of workgroups of this size, without the barrier at the end; none when one does not fit.
std::vector<Stage> stages(const Assembly& assembly, const std::vector<Command>& body, uint32_t first,
                          const Choices& choices) {
  std::vector<Stage> all;
  bool barrier = false;
  for (const Command& command : body) {
    if (command.kind != Command::Kind::dispatch) {
      barrier = true;
      continue;
    }
    const Assembly::Kernel& kernel = assembly.kernel(command);
    if (kernel.shader.combining > choices.workgroup) return {};
    Stage stage{kernel.emit(choices), command.first - first, command.count, barrier};
    if (stage.shader.groups != std::array<uint32_t, 3>{1, 1, 1} || stage.shader.dispatches != 1 ||
        stage.shader.combining != kernel.shader.combining || !stage.shader.parts) {
      return {};
    }
    if (choices.most_iterations > 0 && stage.shader.parts->exchanges) return {};
    all.push_back(std::move(stage));
    barrier = false;
  }
  return all;
}

}  // namespace

std::optional<FusedLoop> fuse_loop(Assembly& assembly, const std::vector<Command>& body, int64_t length,
                                   std::optional<uint32_t> condition) {
  const auto first = first_operand(assembly, body, condition ? *condition : assembly.addresses().next());
  if (!first) return std::nullopt;
  const Choices& own = assembly.choices();
  const uint32_t largest = std::min(own.workgroup, own.reduce_workgroup);  // it may be of full subgroups
  for (uint32_t size = std::max(kLeastWorkgroup, own.subgroup); size <= largest; size *= 2) {
    const Choices choices = of_one_workgroup(own, size, largest);
    const std::vector<Stage> kernels = stages(assembly, body, *first, choices);
    if (kernels.empty()) continue;
    const Shader shader = loop_shader(kernels, choices, condition ? std::optional(*condition - *first) : std::nullopt);
    const int64_t longest = own.most_iterations > 0 ? own.most_iterations - 1 : kLongestDispatch;
    const int64_t at_once = std::min({kIterationsAtOnce, length, longest / static_cast<int64_t>(shader.iterations)});
    if (at_once < std::min(kFewerIterations, length)) return std::nullopt;
    // A flag is looked at after whole dispatches.
    const bool limited = length < std::numeric_limits<int64_t>::max();
    if (condition && length > at_once && limited) return std::nullopt;
    Command command = assembly.add_kernel({shader, "loop", {}, nullptr});
    command.first = *first;
    command.count = static_cast<uint32_t>(at_once);
    return FusedLoop{std::move(command), at_once};
  }
  return std::nullopt;
}

}  // namespace neap::vk
