// What an error that nobody catches looks like.
#pragma once

namespace neap::detail {

// From now on std::terminate, for an exception that is a UserError or a RuntimeError, prints "neap: <message>" on
// standard error and ends the process with exit code 2. Everything else goes to the handler that was there before.
bool install_terminate_handler();

}  // namespace neap::detail
