#include "jit/step_kernels.h"

#include "backends/kernel.h"

namespace neap::jit_detail {

std::string step_kernels(const planner::PlanStep& step) {
  std::string text;
  if (planner::is_opaque(step.kind)) return text;
  for (const backends::Launch& launch : backends::lower(step)) {
    if (!text.empty()) text += '\n';
    text += launch.kernel.print();
  }
  return text;
}

}  // namespace neap::jit_detail
