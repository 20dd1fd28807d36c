#include "planner/plan/parse_json.h"

#include <fmt/format.h>
#include <neap/error.h>

namespace neap::planner {

Json parse_json(std::string_view text, const std::string& name) {
  try {
    return Json::parse(text);
  } catch (const JsonError& e) {
    throw UserError(fmt::format("{}: no JSON: {}", name, e.what()));
  }
}

}  // namespace neap::planner
