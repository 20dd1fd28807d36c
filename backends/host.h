// The host is a device: it holds arrays in every build, and runs plans in one that has the CPU backend (backends/cpu).
#pragma once

#include <memory>
#include <string>

#include "backends/backend.h"

namespace neap::backends {

/// Makes an executable of a plan. Where `compile` of make_host is nullptr, the host only holds arrays.
using Compile = std::shared_ptr<const Executable>(planner::PlanData plan, const std::string& dump_name);
/// Makes an object file of a plan.
using CompileObject = Object(const planner::PlanData& plan, const ObjectRequest& request);
std::unique_ptr<const Backend> make_host(Compile* compile, CompileObject* object);

}  // namespace neap::backends
