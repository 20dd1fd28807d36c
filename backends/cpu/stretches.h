// Shifted, padded and joined operands compare the place along a row with constants and clamp where they read, which no
// vector can load at once. Along most of a row all of this is decided: there the kernel is another, simpler one.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/analysis.h"
#include "backends/kernel.h"

namespace neap::cpu {

/// Holds places [begin, end) of a row and what the kernel computes there. The kernel's index of the vector level is the
/// place along the row; that of level 2 is the row's number, where the loop runs through many.
struct Stretch {
  int64_t begin = 0, end = 0;
  backends::Kernel kernel;
  Within within;
};

/// Holds stretches in ascending order, and the length of the rows that the vector loop runs through; 0: it is one row.
struct Stretches {
  int64_t row = 0;
  std::vector<Stretch> list;
};

/// Finds the stretches that are worth code of their own: in which fewer loads go lane by lane. Loops in which a value
/// must be accumulated in the order of lanes, or that run through rows, get one at most; columns that are reduced, the
/// whole of a row.
Stretches stretches_of(const Analysis& whole, const VectorUnit& unit);

}  // namespace neap::cpu
