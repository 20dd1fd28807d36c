// This runs launches on host memory, one element at a time: what a backend must compute, for the tests of the lowering
// and of the backends. Every access is checked against the size of its buffer.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backends/kernel.h"

namespace neap::backends {

/// Runs a step's launches. `operands` is the memory of its reads, writes and scratch, in that order.
void evaluate(std::span<const Launch> launches, std::span<const std::span<std::byte>> operands);

}  // namespace neap::backends
