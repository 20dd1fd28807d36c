#include "core/terminate.h"

#include <neap/error.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace neap::detail {

namespace {
std::terminate_handler previous = nullptr;

[[noreturn]] void report(const std::exception& error) {
  std::fflush(stdout);
  for (const char* text : {"neap: ", error.what(), "\n"}) std::fputs(text, stderr);
  std::fflush(stderr);
  std::_Exit(2);
}

[[noreturn]] void on_terminate() {
  if (const std::exception_ptr error = std::current_exception()) {
    try {
      std::rethrow_exception(error);
    } catch (const UserError& e) {
      report(e);
    } catch (const RuntimeError& e) {
      report(e);
    } catch (...) {  // the previous handler's business
    }
  }
  if (previous) previous();
  std::abort();
}
}  // namespace

bool install_terminate_handler() {
  static const bool installed = [] {
    previous = std::set_terminate(on_terminate);
    return true;
  }();
  return installed;
}

}  // namespace neap::detail
