// Pages of a plan (html.cpp) and of an index (index.cpp) share this. Tested in tests/planner/report_test.cpp.
#pragma once

#include <string>
#include <string_view>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Returns the page with its data, as JSON, in place of the mark /*DATA*/null.
std::string fill_page(std::string_view page, std::string_view json);

}  // namespace neap::planner
