// This makes the executable of a plan on the host's processors. Tested in tests/backends/cpu_executor_test.cpp.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "backends/executable.h"

namespace neap::backends {

/// Compiles every kernel of the plan. `dump_name` is the stem of file names for NEAP_DUMP, or empty.
std::shared_ptr<const Executable> compile_cpu(planner::PlanData plan, const std::string& dump_name);
/// Compiles its kernels one after the other until it is asked to stop; compile_cpu() finds them. Throws as that does.
void compile_cpu_ahead(const planner::PlanData& plan, const std::stop_token& stop);

}  // namespace neap::backends
