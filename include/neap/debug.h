// What finds the first number that is none: jax.debug_nans and jax.debug_infs.
#pragma once

#include <neap/error.h>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// FloatingPointError means that a result holds a NaN, or an infinity, while debug_nans or debug_infs asks for none.
struct FloatingPointError : UserError {
  using UserError::UserError;
};

/// While one lives, each call of a compiled function and each compiled operation outside a trace on this thread, where
/// it also ends, looks at its results, and throws FloatingPointError where one holds a NaN. To say which operation made
/// it, and at which line, the program is then run again, operation by operation, loops step by step; where an argument
/// had it already, or arguments were donated and are gone, the error says that. Without a NaN a call takes the time to
/// read its results. NEAP_DEBUG_NANS=1 does so in every thread of an unchanged program.
class debug_nans {
 public:
  debug_nans();
  ~debug_nans();
  debug_nans(const debug_nans&) = delete;
  debug_nans& operator=(const debug_nans&) = delete;
};

/// Does the same for infinities; NEAP_DEBUG_INFS=1 too.
class debug_infs {
 public:
  debug_infs();
  ~debug_infs();
  debug_infs(const debug_infs&) = delete;
  debug_infs& operator=(const debug_infs&) = delete;
};

}  // namespace neap

#pragma GCC visibility pop
