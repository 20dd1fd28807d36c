// NEAP_DUMP's index lists all plans of a process (docs/plan-json.md). Tested in tests/jit/dump_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace neap::planner {

/// Counts results of a plan that are still alive.
struct AliveResults {
  int plan = 0;  // that made them
  std::string what;
  size_t bytes = 0;
  int arrays = 0;
};

struct IndexedPlan {
  std::string name, stem, device;  // stem: of the files beside the index; empty: none
  bool naive = false;
  bool eager = false;  // an operation outside of jit
  size_t peak_bytes = 0, lower_bound_bytes = 0, naive_peak_bytes = 0;
  size_t input_bytes = 0, output_bytes = 0;  // arguments and captured arrays; results
  int64_t calls = 0;
  size_t others_bytes = 0;          // the most that was alive beside it when a call began
  std::vector<AliveResults> alive;  // then: what is known of that, the largest first
};

struct IndexedCall {
  int plan = 0;
  size_t before = 0, others = 0, after = 0;  // live bytes of the device: when it began, without its inputs, afterwards
};

struct ProgramIndex {
  std::vector<IndexedPlan> plans;
  std::vector<IndexedCall> calls;  // the first of them
  int64_t calls_left_out = 0;
};

/// Returns the entry of `plan` in an index, without calls.
IndexedPlan indexed(const PlanData& plan, std::string stem, std::string device);

/// Returns the most bytes that calls reach: what is alive beside a plan, and its peak. It is 0 before the first call.
size_t program_peak(const ProgramIndex& index);

std::string to_json(const ProgramIndex& index);
/// Writes one self-contained page, with links to those of the plans.
std::string to_html(const ProgramIndex& index);

}  // namespace neap::planner
