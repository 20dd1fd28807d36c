// What a shared library shows.
#pragma once

/// Marks a namespace whose declarations a shared library exports: all of the public interface, and nothing else.
#if defined(__GNUC__)
#define NEAP_API __attribute__((visibility("default")))
#else
#define NEAP_API
#endif
