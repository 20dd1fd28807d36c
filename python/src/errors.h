// Neap's exceptions as Python's, and objects of Python that C++ holds.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <source_location>
#include <string>

namespace nb = nanobind;

namespace neap::python {

/// Makes the classes of exceptions in the module, and has them raised where C++ throws.
void bind_errors(nb::module_& m);

/// Throws Python's TypeError: "op: got; expected ...  [model.py:41]".
[[noreturn]] void type_error(const char* op, const std::string& got, const std::string& expected);
/// Returns "a list", "an ndarray": the type of an object, for messages.
std::string name_of_type(nb::handle object);

/// Holds an object for C++, which may let go of it on any thread, with the GIL or without: then the interpreter drops
/// the object a little later.
using Held = std::shared_ptr<PyObject>;
Held hold(nb::handle object);
/// Drops a reference, now where the GIL is held, else later.
void drop(PyObject* object) noexcept;

}  // namespace neap::python
