// How an error that nobody catches ends the process.
#pragma once

namespace neap::detail {

// Makes std::terminate, for an exception that is a UserError or a RuntimeError, print "neap: <message>" on standard
// error and end the process with exit code 2. Everything else goes to the handler that was there before.
bool install_terminate_handler();

}  // namespace neap::detail
