// Arrays in fmt::format: `fmt::format("{}", x)` writes what to_string(x) does; the
// format of strings applies ("{:>40}"). For programs that use {fmt}; nothing else includes this.
#pragma once

#include <neap/array.h>

#include <fmt/format.h>

template <>
struct fmt::formatter<neap::Array> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const neap::Array& x, Context& context) const {
    return fmt::formatter<std::string_view>::format(neap::to_string(x), context);
  }
};
