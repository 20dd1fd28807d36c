// Adds the user's line to errors that are found where it is not known: in the allocator, the planner and backends.
#pragma once

#include <neap/error.h>

#include <new>
#include <source_location>
#include <string>
#include <typeinfo>

namespace neap {

// Returns the message with "  [model.cpp:41]" behind its first line, unless it has one already or `loc` names none.
std::string with_line(const std::string& message, std::source_location loc);

// Returns what f returns. An OutOfMemoryError, OptionError, BudgetError or DeviceError that f throws gets the line, if
// there is memory for it.
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
  } catch (const OptionError& e) {  // a user's own error, derived from one of these, stays what it is
    if (typeid(e) != typeid(OptionError)) throw;
    throw OptionError(with_line(e.what(), loc));
  } catch (const BudgetError& e) {
    if (typeid(e) != typeid(BudgetError)) throw;
    throw BudgetError(with_line(e.what(), loc), e.smallest_peak_bytes());
  } catch (const DeviceError& e) {
    if (typeid(e) != typeid(DeviceError)) throw;
    throw DeviceError(with_line(e.what(), loc));
  }
}

}  // namespace neap
