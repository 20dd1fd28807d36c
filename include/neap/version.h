// The version of these headers, for the preprocessor, and of the library that a program runs with. CMake reads it here.
#pragma once

#define NEAP_VERSION_MAJOR 0
#define NEAP_VERSION_MINOR 2
#define NEAP_VERSION_PATCH 0

/// 10000 x major + 100 x minor + patch: `#if NEAP_VERSION >= 200` is 0.2.0 and later.
#define NEAP_VERSION (NEAP_VERSION_MAJOR * 10000 + NEAP_VERSION_MINOR * 100 + NEAP_VERSION_PATCH)

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// NEAP_VERSION of the library itself: another than that of the headers means that a program was compiled with others.
int version() noexcept;

}  // namespace neap

#pragma GCC visibility pop
