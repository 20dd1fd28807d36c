// The readers of JSON files share this. Tested in tests/planner/parse_plan_test.cpp and limits_test.cpp.
#pragma once

#include <string>
#include <string_view>

#include "core/json.h"

namespace neap::planner {

/// Parses the text as JSON. Throws UserError with `name` and what is wrong with the text.
Json parse_json(std::string_view text, const std::string& name);

}  // namespace neap::planner
