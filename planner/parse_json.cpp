#include "planner/parse_json.h"

#include <fmt/format.h>
#include <neap/error.h>

namespace neap::planner {

nlohmann::json parse_json(std::string_view text, const std::string& name) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    throw UserError(fmt::format("{}: no JSON: {}", name, std::string_view(e.what()).substr(0, 200)));
  }
}

}  // namespace neap::planner
