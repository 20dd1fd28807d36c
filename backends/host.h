// The host is a device: it holds arrays in every build, and runs plans in one that has the CPU backend (backends/cpu).
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "backends/backend.h"

namespace neap::backends {

/// Makes an executable of a plan. Where `compile` of make_host is nullptr, the host only holds arrays.
using Compile = std::shared_ptr<const Executable>(planner::PlanData plan, const std::string& dump_name);
/// Compiles ahead (Backend::compile_ahead).
using CompileAhead = void(const planner::PlanData& plan, const std::stop_token& stop);
/// Makes an object file of a plan.
using CompileObject = Object(const planner::PlanData& plan, const ObjectRequest& request);
std::unique_ptr<const Backend> make_host(Compile* compile, CompileAhead* ahead, CompileObject* object);

}  // namespace neap::backends
