// Rows beside Neap's in the same run: the hand-written kernels of bench/limits, and the peers of bench/peers.
#pragma once

#include <vector>

#include "bench/runner.h"

namespace bench {

// The hand-written kernel of the request's case, where there is one, with the request's threads (default: two, or all).
// For the CPU only; a device is held against its own copies (device_copy.h), in the row itself.
void add_limits(const Request& request, std::vector<Json>& rows);

// bench/peers/peers.py, run by the Python that $NEAP_PEERS_PYTHON names. UsageError where that is not set or fails.
void add_peers(const Request& request, std::vector<Json>& rows);

}  // namespace bench
