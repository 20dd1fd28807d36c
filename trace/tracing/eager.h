// How an operation outside of a trace is run. trace/ only stages; operations outside are run by the program that links
// it: by compiled executables in the library (jit/eager.cpp), by nothing in a program without a backend
// (planner/tool/no_eager.cpp). Only the linker sees this one dependency, `eager()`: a registration would be lost in a
// static library, where nothing else names the file that holds it.
#pragma once

#include <functional>
#include <source_location>
#include <string>

#include "trace/tracing/tracing.h"

namespace neap::tracing {

class Eager {
 public:
  Eager() = default;
  virtual ~Eager() = default;
  Eager(const Eager&) = delete;
  Eager& operator=(const Eager&) = delete;

  /// Runs a graph on concrete arrays.
  virtual Arrays run(const Graph& graph, const Arrays& inputs) const = 0;
  /// Runs one op on concrete arrays.
  virtual Arrays apply(Op op, const Arrays& inputs, const Attrs& attrs, std::source_location loc) const = 0;
  /// Runs what composite() (trace/tracing/tracing.h) is given, outside of a trace.
  virtual Array composite(const std::string& key, const Arrays& inputs,
                          const std::function<Array(const Arrays&)>& f) const = 0;
};

/// Returns the one that runs operations in this program. A program that links trace/ defines it once.
const Eager& eager();

}  // namespace neap::tracing
