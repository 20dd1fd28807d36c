#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>

#include "core/at_line.h"
#include "core/check.h"
#include "core/terminate.h"

namespace neap {

namespace {
// Every program that can throw one of Neap's errors links this file, and so gets the handler.
[[maybe_unused]] const bool kHandlerInstalled = detail::install_terminate_handler();
}  // namespace

std::string to_string(const std::source_location& loc) {
  const std::string_view path = loc.file_name();
  return fmt::format("{}:{}", path.substr(path.find_last_of("/\\") + 1), loc.line());
}

std::string user_message(std::string_view op, std::string_view got, std::string_view expected, std::string_view hint,
                         std::source_location loc) {
  std::string text;
  auto append = [&](std::string_view separator, std::string_view part) {
    if (part.empty()) return;
    if (!text.empty()) text += separator;
    text += part;
  };
  append("", op);
  append(": ", got);
  if (!expected.empty()) append("; ", fmt::format("expected {}", expected));
  append("; ", hint);
  return loc.line() == 0 ? text : fmt::format("{}  [{}]", text, to_string(loc));
}

std::string with_line(const std::string& message, std::source_location loc) {
  const size_t end = std::min(message.find('\n'), message.size());
  const std::string_view first = std::string_view(message).substr(0, end);
  const bool has_line = first.ends_with(']') && first.find("  [") != first.npos;
  if (has_line || loc.line() == 0) return message;
  return fmt::format("{}  [{}]{}", first, to_string(loc), message.substr(end));
}

void detail::check_failed(const char* condition, std::source_location loc) {
  throw InternalError(fmt::format("internal: {}  [{}]", condition, to_string(loc)));
}

void detail::check_failed(const char* condition, const std::string& message, std::source_location loc) {
  throw InternalError(fmt::format("internal: {}: {}  [{}]", condition, message, to_string(loc)));
}

}  // namespace neap
