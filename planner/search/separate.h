// Steps that hold the most are taken apart: what they compute in registers is stored where that frees more than it
// takes, and what they, and those that made what they hold, were merged from are steps of their own.
// Tested in tests/planner/separate_test.cpp.
#pragma once

#include <optional>

#include "planner/pipeline/pipeline.h"
#include "planner/search/better.h"

namespace neap::planner {

/// The plan with its highest steps taken apart until it holds no more than it may beside the naive one
/// (planner/search/better.h), and no further; nullopt: no such plan is found.
std::optional<Planned> separate_peaks(const Planned& planned, Price naive, const PlanOptions& options);

}  // namespace neap::planner
