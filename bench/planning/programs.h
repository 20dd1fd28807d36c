// Programs of any number of operations, to see how planning grows with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trace/tracing/tracing.h"

namespace bench {

struct Program {
  std::string name;
  std::vector<neap::Aval> parameters;
  /// About so many operations.
  std::function<neap::tracing::Arrays(const neap::tracing::Arrays&, int64_t operations)> run;
};

/// chain, loop, network, random, gathers, joins.
std::vector<Program> programs();

}  // namespace bench
