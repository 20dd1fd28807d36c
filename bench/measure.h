// One measured run, in the process that was started for it.
#pragma once

#include "bench/runner.h"

namespace bench {

// Plans, compiles and runs the request; sends progress and the row to the parent. The exit code of the process.
int measure_one(const std::string& request_json);

}  // namespace bench
