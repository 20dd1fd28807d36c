// What an error says.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>

namespace neap {

/// The message of the error of type E that f throws.
template <class E, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "nothing is thrown";
  return "";
}

}  // namespace neap
