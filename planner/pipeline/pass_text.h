// What a pass left, as text for people (NEAP_DUMP): a wrong rewriting is found by looking.
#pragma once

#include <string>

#include "planner/fuse/fuse.h"
#include "planner/plan/plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {

/// The graph, then the values that each step to be makes.
std::string fusion_text(const tracing::Graph& graph, const Fusion& fusion);

/// One line for each step: its number, what it reads and writes, its op.
std::string steps_text(const PlanData& plan);

/// One line for each buffer: its bytes, the steps from which to which it is needed, where it lies.
std::string buffers_text(const PlanData& plan);

}  // namespace neap::planner
