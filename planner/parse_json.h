// What the readers of JSON files share. Tested in tests/planner/parse_plan_test.cpp and limits_test.cpp.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace neap::planner {

/// The text as JSON; UserError with `name` and what is wrong with it.
nlohmann::json parse_json(std::string_view text, const std::string& name);

}  // namespace neap::planner
