// On request, the `subkey` form draws the random bits of n elements as K ranges, range c with the key fold_in(key, c)
// and counters from 0, as generators would that cannot be addressed by counter. The bits depend on K. As K keys are a
// batch of keys, this is one random_bits of them, cut to n elements: it fuses like any other. Tested in
// tests/planner/choices_test.cpp.
#pragma once

#include "trace/graph/graph.h"

namespace neap::planner {

/// Rewrites every random_bits that has one key, no offset and at least K = `chunks` elements, in bodies and branches
/// too.
tracing::Graph use_subkeys(const tracing::Graph& graph, int64_t chunks);

/// Tells whether there is such a random_bits.
bool takes_subkeys(const tracing::Graph& graph, int64_t chunks);

}  // namespace neap::planner
