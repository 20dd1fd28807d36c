// Three families of errors: UserError (the program asks for something that has no meaning), RuntimeError (the machine
// cannot do it now) and InternalError (Neap is wrong). A user or runtime error that nobody catches prints its message
// as "neap: <message>" on standard error and ends the process with exit code 2.
#pragma once

#include <cstddef>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

// NEAP_DELETE deletes a function, and has the compiler say why where one is called: clang in its error, others as they
// show the line that declares it. (A static_assert in the function would say so too, but is_assignable and the like
// would then be true.)
#if defined(__clang__) && defined(__cpp_deleted_function)
#define NEAP_DELETE(why)                                                                        \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc++26-extensions\"") = \
      delete (why)_Pragma("clang diagnostic pop")
#else
#define NEAP_DELETE(why) = delete
#endif

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// UserError means that the program asks for something that has no meaning. The following are more particular.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// ShapeError means that shapes do not fit the operation, or each other.
struct ShapeError : UserError {
  using UserError::UserError;
};
/// DTypeError means that an operation does not take this element type.
struct DTypeError : UserError {
  using UserError::UserError;
};
/// IndexError means an axis, position or number of indices outside what the operand has.
struct IndexError : UserError {
  using UserError::UserError;
};
/// TracerError means that a traced value was used where a concrete one is needed, or outside its trace.
struct TracerError : UserError {
  using UserError::UserError;
};
/// OptionError means an option or environment variable of no meaning, or a strategy that cannot be had.
struct OptionError : UserError {
  using UserError::UserError;
};
/// BudgetError means that no plan fits the memory budget.
struct BudgetError : UserError {
  explicit BudgetError(const std::string& message, size_t smallest_peak_bytes = 0)
      : UserError(message), smallest_peak_bytes_(smallest_peak_bytes) {}
  /// Returns the smallest budget that the planner finds a plan for.
  size_t smallest_peak_bytes() const { return smallest_peak_bytes_; }

 private:
  size_t smallest_peak_bytes_;
};

/// RuntimeError means that the machine cannot do it now.
struct RuntimeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// OutOfMemoryError means that memory, or the limit set on it, does not suffice.
struct OutOfMemoryError : RuntimeError {
  using RuntimeError::RuntimeError;
};
/// DeviceError means that a device is absent, lost, or failed a command.
struct DeviceError : RuntimeError {
  using RuntimeError::RuntimeError;
};

/// InternalError means a broken invariant: a defect of Neap, never the user's.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

/// Writes "op: got; expected ...; hint  [model.cpp:41]", leaving out the parts that are empty. `got` says what was
/// found, `expected` what would do ("expected" itself is added), `hint` what to do; the file loses its folder. A
/// location without a line is left out.
std::string user_message(std::string_view op, std::string_view got, std::string_view expected, std::string_view hint,
                         std::source_location loc);
/// Writes "model.cpp:41".
std::string to_string(const std::source_location& loc);

/// Throws E with the message that user_message makes.
template <class E>
[[noreturn]] void throw_user(std::string_view op, std::string got, std::string expected, std::string hint,
                             std::source_location loc) {
  throw E(user_message(op, got, expected, hint, loc));
}

}  // namespace neap

#pragma GCC visibility pop
