// What the reports (to_text, to_json, to_html in planner/plan.h) share. Tested in tests/planner/report_test.cpp.
#pragma once

#include <neap/error.h>

#include <string>
#include <string_view>
#include <vector>

#include "planner/plan.h"

namespace neap::planner {

/// "file:line" of the user's code that a buffer or step comes from; empty where that is unknown.
std::string where(const auto& item) {
  if (!item.origin.empty()) return item.origin;
  return item.source.line() == 0 ? "" : to_string(item.source);
}

/// A page of a report with its data, as JSON, in place of the mark.
std::string fill_page(std::string_view page, std::string_view json);

/// The step with the most live bytes, the first of them; -1 where there are no steps.
int widest_step(const PlanData& plan);

/// Buffers that hold bytes during a step, the largest first; aliases are left out.
std::vector<int> alive_at(const PlanData& plan, int step);

/// One line for each value alive at the widest step: bytes, storage, shape, what made it, source line.
std::string describe_alive(const PlanData& plan, const std::string& indent);

}  // namespace neap::planner
