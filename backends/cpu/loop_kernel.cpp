#include "backends/cpu/loop_kernel.h"

#include <algorithm>

namespace neap::cpu {

using scalar::Opcode;
using scalar::X;

bool is_loop_of_maps(const ScanCode& scan) {
  const auto is_map = [](const StepCode& step) {
    return step.kind == planner::PlanStep::Kind::map && !step.launches.empty();
  };
  return scan.counted && !scan.body->steps.empty() && std::ranges::all_of(scan.body->steps, is_map);
}

void LoopKernelMaker::iterate(int level) {
  slice_ = all_.dag.index(level, i64);
  if (scan_.reverse) slice_ = all_.dag.binary(Opcode::sub, all_.dag.integer(scan_.length - 1, i64), slice_);
}

bool LoopKernelMaker::find_places() {
  for (const auto& s : scan_.sliced) {
    if (!s.stored) slices_.insert(s.body_buffer);
  }
  for (const auto& [buffer, outer] : scan_.fixed) fixed_.insert(buffer);
  for (const auto& c : scan_.carried) {
    if (fixed_.contains(root(c.from))) return false;
    carries_.emplace_back(c.from, c.in_place_of);
  }
  for (const int b : body_.outputs) {  // written where it lies, or the same for ever
    if (fixed_.contains(root(b))) carries_.emplace_back(b, root(b));
  }
  for (const auto& [from, place] : carries_) {
    if (root(place) != place || aval(from).size() != aval(place).size()) return false;
    carried_.insert(place);
  }
  return true;
}

bool LoopKernelMaker::is_plain_map(const backends::Launch& launch, const LaunchCode& code) {
  const backends::Kernel& k = launch.kernel;
  const bool is_map = k.kind == backends::Kernel::Kind::map && k.num_params == 0 && k.carried.empty();
  return is_map && launch.partials <= 1 && code.zero_fill.empty();
}

X LoopKernelMaker::in_slice(int buffer, X index) {
  const X begin = all_.dag.binary(Opcode::mul, slice_, all_.dag.integer(aval(buffer).size(), i64));
  return all_.dag.binary(Opcode::add, begin, index);
}

int LoopKernelMaker::add_buffer(int buffer, DType type, bool written) {
  all_.buffers.push_back({type, written, {}});
  buffers_.push_back(buffer);
  return static_cast<int>(buffers_.size()) - 1;
}

}  // namespace neap::cpu
