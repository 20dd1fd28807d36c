// The end of a program that writes to standard output.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace bench {

// `code`, or 2 with a word on standard error where what was written did not arrive: on a full disk, say.
inline int finish_output(const char* program, int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  fmt::print(stderr, "{}: standard output: {}\n", program, std::generic_category().message(errno ? errno : EIO));
  return 2;
}

}  // namespace bench
