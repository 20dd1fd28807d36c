// Functions of Python as functions on leaves. The Python side takes trees apart (python/neap/_tree.py), so what comes
// here takes a list of arrays and returns one.
#pragma once

#include "args.h"

namespace neap::python {

/// Returns a function that calls f with the GIL. Exceptions of f pass through C++ as they are.
detail::LeafFunction leaf_function(nb::handle f);
/// Returns the arrays of a list, numbers converted.
std::vector<Array> leaves_from(nb::handle list, std::source_location loc);
nb::list list_of(const std::vector<Array>& arrays);

}  // namespace neap::python
