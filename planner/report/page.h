// What the reports (to_text, to_json, to_html in planner/plan/plan.h) share. Tested in tests/planner/report_test.cpp.
#pragma once

#include <string>
#include <string_view>

#include "planner/plan/plan.h"

namespace neap::planner {

/// A page of a report with its data, as JSON, in place of the mark.
std::string fill_page(std::string_view page, std::string_view json);

}  // namespace neap::planner
