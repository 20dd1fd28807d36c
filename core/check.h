// Checks of invariants. A failed check throws InternalError: "internal: <condition>: <message>  [file.cpp:12]".
#pragma once

#include <neap/error.h>

#include <source_location>
#include <string>

namespace neap::detail {

[[noreturn]] void check_failed(const char* condition, std::source_location loc);

}  // namespace neap::detail

#ifdef NEAP_RUNTIME  // what saved functions call has no library to make messages with (backends/cpu/runtime)

#define NEAP_CHECK(condition, ...)                                               \
  do {                                                                           \
    if (!(condition)) [[unlikely]]                                               \
      ::neap::detail::check_failed(#condition, std::source_location::current()); \
  } while (false)

#else

#include <fmt/format.h>

namespace neap::detail {

[[noreturn]] void check_failed(const char* condition, const std::string& message, std::source_location loc);

template <class... Args>
std::string check_message(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

}  // namespace neap::detail

// NEAP_CHECK(condition) or NEAP_CHECK(condition, "fmt {}", value) is always on; the message is built only on failure.
#define NEAP_CHECK(condition, ...)                                                                               \
  do {                                                                                                           \
    if (!(condition)) [[unlikely]]                                                                               \
      ::neap::detail::check_failed(                                                                              \
          #condition, __VA_OPT__(::neap::detail::check_message(__VA_ARGS__), ) std::source_location::current()); \
  } while (false)

#endif

// NEAP_DCHECK does the same, in builds without NDEBUG only: it is for checks that cost time.
#ifdef NDEBUG
#define NEAP_DCHECK(condition, ...) \
  do {                              \
  } while (false)
#else
#define NEAP_DCHECK(...) NEAP_CHECK(__VA_ARGS__)
#endif
