// This makes the executable of a plan on the host's processors. Tested in tests/backends/cpu_executor_test.cpp.
#pragma once

#include <memory>
#include <string>

#include "backends/executable.h"

namespace neap::backends {

/// Compiles every kernel of the plan. `dump_name` is the stem of file names for NEAP_DUMP, or empty.
std::shared_ptr<const Executable> compile_cpu(planner::PlanData plan, const std::string& dump_name);

}  // namespace neap::backends
