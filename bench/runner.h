// Runs each measured run in a process of its own, so that neither caches, arenas nor resident pages carry over: the
// program executes itself again and reads JSON lines from a pipe.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/case.h"

namespace bench {

using Json = nlohmann::ordered_json;

inline constexpr const char* kChildFlag = "--measure-one";  // hidden; followed by the request as JSON

struct RunResult {
  Json row;           // null if the run failed
  std::string error;  // the run's message where it failed
  int exit_code = 0;
};

// Runs the request in a fresh process. `progress` is called with a line to show whenever the run is a step further.
RunResult run_fresh(const Request& request, const std::function<void(const std::string&)>& progress);

// What the child calls: one line on the pipe.
void send_to_parent(const Json& message);

}  // namespace bench
