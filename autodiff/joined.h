// Lists of operands, one behind the other.
#pragma once

#include "trace/tracing/tracing.h"

namespace neap::autodiff {

inline tracing::Arrays joined(tracing::Arrays a, const tracing::Arrays& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace neap::autodiff
