// This sets offsets, peak and live bytes of a plan whose steps, order and aliases are fixed: the promise that a run
// keeps.
//
// In a planned pipeline arguments, captured arrays, outputs and the arena are held for the whole run, so the peak is
// their sum. Of the arena a step's bytes_live counts what is in use during the step, and the holes that placing left
// (the arena less the most that is ever in use, nearly always 0): the peak step's is the peak. Outputs lie in the arena
// (`slab`) when that is lower, and planner/search/results_apart.h does not prefer the other. In a naive one each buffer
// is held from its first step to its last, and bytes_live is what is held. Tested in tests/planner/plan_test.cpp.
#pragma once

#include <cstdint>

#include "planner/place/place.h"
#include "planner/plan/plan.h"

namespace neap::planner {

/// Says how much is spent on placing, which takes long. `nowhere` gives a candidate plan the peak of the lowest
/// placement that could be and offsets that mean nothing; `near` is content with a placement close to that; `best` is
/// not.
enum class Placing : uint8_t { nowhere, near, best };
/// Sets offsets, arena_bytes, arena_blocks, slab, peak_bytes, lower_bound_bytes, and the bytes of each step. Where the
/// arena can be cut up after the run, outputs may lie in it; where it is larger than one allocation may be, it is
/// several. Buffers can be assigned again.
void assign_buffers(PlanData& plan, const Target& target, Placing placing = Placing::best,
                    SharedPlacing* shared = nullptr);

/// Counts the bytes that a plan holds beside what its steps are ordered for: arguments, captured arrays, and outputs
/// where they cannot lie in the arena.
size_t held_beside(const PlanData& plan, const Target& target);

/// Does the same for a loop's body, of which only the arena counts. Carries that are not in place lie in the arena, ys
/// outside.
void assign_buffers_of_body(PlanData& body, int num_carry, const Target& target, SharedPlacing* shared = nullptr);

}  // namespace neap::planner
