// The line of Python that calls, as a std::source_location: so errors and plans name it as they name a line of C++.
#pragma once

#include <nanobind/nanobind.h>

#include <source_location>
#include <string>

namespace neap::python {

/// Returns the line of the innermost Python frame outside the package; without a line where there is none. The GIL is
/// held. What it points to lives for ever.
std::source_location here();

/// Says which folder's frames are the package's own.
void set_package_folder(const std::string& folder);

/// Says what files are called in plans and errors: a function of a file's name that returns a name, or None for its
/// own. None ends it.
void set_file_namer(nanobind::object namer);

}  // namespace neap::python
