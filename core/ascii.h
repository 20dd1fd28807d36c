// Functions on ASCII characters, for names and numbers in files, options and programs. <cctype> asks the process's
// locale, in which "i" may have another capital than "I"; nothing here does (tools/check_locale.py).
#pragma once

#include <string>
#include <string_view>

namespace neap::ascii {

constexpr bool is_digit(char c) { return '0' <= c && c <= '9'; }
constexpr bool is_lower(char c) { return 'a' <= c && c <= 'z'; }
constexpr bool is_upper(char c) { return 'A' <= c && c <= 'Z'; }
constexpr bool is_alnum(char c) { return is_digit(c) || is_lower(c) || is_upper(c); }
constexpr bool is_space(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

inline std::string to_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = to_lower(c);
  return result;
}
inline std::string to_upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = to_upper(c);
  return result;
}

}  // namespace neap::ascii
