#include <neap/bytes.h>

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <ostream>

#include "core/ascii.h"

namespace neap {

namespace {
constexpr std::string_view kPrefixes = "KMGTPE";

// Returns the factor that a unit stands for, 0 for an unknown one.
double unit_factor(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  const size_t power = kPrefixes.find(unit[0]);
  if (power == std::string_view::npos) return 0;
  unit.remove_prefix(1);
  if (unit.empty() || unit == "IB") return std::pow(1024.0, static_cast<double>(power + 1));
  return unit == "B" ? std::pow(1000.0, static_cast<double>(power + 1)) : 0;
}
}  // namespace

std::ostream& operator<<(std::ostream& out, Bytes bytes) { return out << format_bytes(bytes); }

std::string format_bytes(size_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  size_t power = 0;
  for (; power < kPrefixes.size() && value >= 1024; ++power) value /= 1024;
  return fmt::format("{:.2f} {}iB", value, kPrefixes[power - 1]);
}

std::optional<size_t> parse_bytes(std::string_view text) {
  auto trim = [](std::string_view s) {
    while (!s.empty() && ascii::is_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && ascii::is_space(s.back())) s.remove_suffix(1);
    return s;
  };
  text = trim(text);
  const size_t split = std::min(text.find_first_not_of("0123456789."), text.size());
  const double factor = unit_factor(ascii::to_upper(trim(text.substr(split))));
  if (split == 0 || factor == 0) return std::nullopt;

  const char* begin = text.data();
  const char* end = begin + split;
  size_t whole = 0;  // exact where a double is not
  if (const auto parsed = std::from_chars(begin, end, whole); parsed.ptr == end) {
    size_t result = 0;
    if (parsed.ec != std::errc() || factor >= 0x1p64) return std::nullopt;
    if (__builtin_mul_overflow(whole, static_cast<size_t>(factor), &result)) return std::nullopt;
    return result;
  }
  double value = 0;
  const auto parsed = std::from_chars(begin, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value * factor >= 0x1p64) return std::nullopt;
  return static_cast<size_t>(std::round(value * factor));
}

}  // namespace neap
