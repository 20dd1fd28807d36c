// Functions become files: what <neap/aot.h> declares. Tested in tests/jit/save_test.cpp.
#pragma once

#include <neap/aot.h>

#include <string>

#include "backends/object.h"
#include "planner/plan/plan.h"
#include "trace/tracing/tracing.h"

namespace neap::jit_detail {

/// Writes `stem`.o and `stem`.h of a function, both or neither. Where it has captured arrays but `function.captured` is
/// empty, these are parameters too.
Saved save(const tracing::TracedFunction& function, planner::PlanOptions options, const Device& device,
           const std::filesystem::path& stem, const SaveOptions& how, std::source_location loc);

/// Returns the header of a saved function: for C, and a wrapper of spans for C++. `names` has one for each argument,
/// captured array that is a parameter, and result.
struct HeaderNames {
  std::vector<std::string> inputs, results;
};
std::string saved_header(const std::string& name, const backends::Object& object, size_t peak_bytes,
                         const HeaderNames& names);

}  // namespace neap::jit_detail
