// The user's line for errors that are found where it is not known: in the allocator, and in the planner.
#pragma once

#include <neap/error.h>

#include <new>
#include <source_location>
#include <string>

namespace neap {

// The message with "  [model.cpp:41]" behind it, unless it has a line already or `loc` is nowhere.
std::string with_line(const std::string& message, std::source_location loc);

// What f returns. An OutOfMemoryError or OptionError of f's gets the line, if there is memory for it.
template <class F>
auto at_line(std::source_location loc, F&& f) {
  try {
    return f();
  } catch (const OutOfMemoryError& e) {
    std::string message;
    try {
      message = with_line(e.what(), loc);
    } catch (const std::bad_alloc&) {
      throw e;
    }
    throw OutOfMemoryError(message);
  } catch (const OptionError& e) {
    throw OptionError(with_line(e.what(), loc));
  }
}

}  // namespace neap
