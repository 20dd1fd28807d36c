// debug_nans and debug_infs: which operation made the first NaN or infinity of a result.
#pragma once

#include <source_location>

#include "trace/tracing/tracing.h"

namespace neap::jit_detail {

/// Returns whether results of calls on this thread are looked at.
bool checks_results();

/// Throws FloatingPointError where a result of the function holds what is looked for. `arguments` are the parameters it
/// was called with; they are donated where they can't be read any more.
void check_results(const tracing::TracedFunction& function, const tracing::Arrays& arguments,
                   const tracing::Arrays& results, std::source_location loc);

}  // namespace neap::jit_detail
