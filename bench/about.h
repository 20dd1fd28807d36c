// What a report says beside its numbers: where each case comes from, and on what machine and of what sources they are.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

// Where the case comes from, in a sentence or two; "" for one that has no entry (tests/bench/check_report).
std::string origin_of(const std::string& name);

// Lines "name: value" on the run: machine, system, date in UTC, Neap's version, the commit of the sources, the build.
// What the system does not tell is left out. `device`: as in Options; `threads`: 0 means as many as a run takes itself.
using Facts = std::vector<std::pair<std::string, std::string>>;
Facts facts_of_run(const std::string& device, int threads);

}  // namespace bench
