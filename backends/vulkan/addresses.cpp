#include "backends/vulkan/addresses.h"

#include <algorithm>

namespace neap::vk {

using planner::PlanData;

bool Scope::is_output(int b) const {
  return std::ranges::any_of(plan.outputs, [&](int output) { return root(output) == b; });
}

Scope Addresses::with_homes(const PlanData& plan) {
  Scope scope(plan);
  for (size_t b = 0; b < plan.buffers.size(); ++b) scope.homes.push_back(entry());
  return scope;
}

Scope Addresses::outermost(const PlanData& plan) {
  Scope scope = with_homes(plan);
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    if (scope.root(b) == b) program_.entries.push_back({scope.homes[b], b, 0});
  }
  return scope;
}

Scope Addresses::body(const PlanData& plan) {
  Scope scope = with_homes(plan);
  scope.is_loop = true;
  scope.origins.resize(plan.buffers.size());
  return scope;
}

void Addresses::bind_homes(Scope& body) {
  for (int b = 0; b < static_cast<int>(body.plan.buffers.size()); ++b) {
    if (body.root(b) != b) continue;
    const Origin& origin = body.origins[b];
    body.bind.push_back({body.homes[b], origin.home, origin.add});
    if (origin.stride) body.move.push_back({body.homes[b], body.homes[b], origin.stride});
  }
}

uint32_t Addresses::operands(Scope& scope, const std::vector<int>& buffers) {
  const uint32_t first = next();
  for (const int b : buffers) {
    const uint32_t e = entry();
    const int root = scope.root(b);
    if (!scope.is_loop) {
      program_.entries.push_back({e, root, scope.shift(b)});
      continue;
    }
    const Origin& origin = scope.origins[root];
    scope.bind.push_back({e, origin.home, origin.add + scope.shift(b)});
    if (origin.stride) scope.move.push_back({e, e, origin.stride});
  }
  return first;
}

Addresses::Flag Addresses::flag(Scope& scope, int condition) {
  const uint32_t home = entry();
  const int number = program_.num_flags++;
  const int64_t shift = Program::kFlagBytes * number;
  program_.entries.push_back({home, Program::kFlags, shift});
  const uint32_t first = operands(scope, {condition});
  const uint32_t to = entry();
  if (scope.is_loop)
    scope.bind.push_back({to, home, 0});
  else
    program_.entries.push_back({to, Program::kFlags, shift});
  return {number, first};
}

uint32_t Addresses::records(const std::vector<BindRecord>& records) {
  const uint32_t e = entry();
  const auto shift = static_cast<int64_t>(program_.records.size() * sizeof(BindRecord));
  program_.entries.push_back({e, Program::kRecords, shift});
  program_.records.insert(program_.records.end(), records.begin(), records.end());
  return e;
}

}  // namespace neap::vk
