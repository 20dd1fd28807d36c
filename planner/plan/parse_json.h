// What the readers of JSON files share. Tested in tests/planner/parse_plan_test.cpp and limits_test.cpp.
#pragma once

#include <string>
#include <string_view>

#include "core/json.h"

namespace neap::planner {

/// The text as JSON; UserError with `name` and what is wrong with it.
Json parse_json(std::string_view text, const std::string& name);

}  // namespace neap::planner
