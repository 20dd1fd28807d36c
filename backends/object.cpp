#include "backends/object.h"

#include <algorithm>

namespace neap::backends {

int argument_of(const planner::PlanData& plan, int result) {
  const int output = plan.outputs[static_cast<size_t>(result)];
  if (plan.shift(output) != 0) return -1;
  for (size_t i = 0; i < plan.inputs.size() && i < plan.donated.size(); ++i) {
    if (plan.donated[i] && plan.inputs[i] == plan.root(output)) return static_cast<int>(i);
  }
  return -1;
}

std::vector<int> copied_results(const planner::PlanData& plan) {
  std::vector<int> copied, taken, placed;  // donated arguments that hold a result; buffers that are a result's own
  for (int i = 0; i < static_cast<int>(plan.outputs.size()); ++i) {
    const int home = argument_of(plan, i), root = plan.root(plan.outputs[static_cast<size_t>(i)]);
    if (home >= 0 && std::ranges::count(taken, home) == 0) {
      taken.push_back(home);
    } else if (std::ranges::count(plan.inputs, root) > 0 || std::ranges::count(placed, root) > 0) {
      copied.push_back(i);
    } else {
      placed.push_back(root);
    }
  }
  return copied;
}

}  // namespace neap::backends
