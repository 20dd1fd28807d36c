// A strategy names how a step computes: reports print it, and a user may pin it. Tested in
// tests/planner/choices_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace neap::planner {

enum class Strategy : uint8_t {
  naive,               // as the program says: every op stores its result
  fused,               // ops in registers
  chunked,             // a part of the program runs slice by slice
  subkey,              // random numbers are drawn by keys of their own for each slice: other numbers
  nocopy_gather_grad,  // updates are computed where they are added, and never stored
  recompute,           // some of it was computed by another step too
  inplace,             // the result is written over an operand
  opaque,              // one op, a kernel of its own: products, sorts, factorizations
  host,                // a factorization that a GPU leaves to the host
  loop,                // scan and while_loop
  branch,              // of a cond
};

/// Returns the strategy's name, such as "nocopy-gather-grad".
std::string_view name(Strategy strategy);
/// Finds the strategy of that name; nullopt where there is none.
std::optional<Strategy> find_strategy(std::string_view name);
/// Finds the strategy of that name among those that can be pinned. Throws OptionError for other names.
Strategy pinned_strategy(std::string_view name);

}  // namespace neap::planner
