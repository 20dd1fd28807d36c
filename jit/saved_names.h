// Which names a saved function and its parameters may have: those that a header can use in C and in C++.
#pragma once

#include <string>

namespace neap::jit_detail {

/// Tells whether it is an identifier that is no word of C or C++, of the headers that a saved function's includes, nor
/// reserved.
bool is_free_identifier(const std::string& name);
/// Tells whether a header NAME.h would stand before one of C's, or a function NAME before one that every program has.
bool is_taken_function(const std::string& name);

}  // namespace neap::jit_detail
