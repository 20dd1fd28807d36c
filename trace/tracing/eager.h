// What runs an operation outside of a trace. trace/ only stages; what does not belong to a trace is run by whoever
// links it: by compiled executables in the library (jit/eager.cpp), by nothing in a program without a backend
// (planner/tool/no_eager.cpp). `eager()` is the one arrow of the house that only the linker sees: a registration would
// be lost in a static library, where nothing else names the file that it stands in.
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

/// What runs operations in this program. It is defined by who links trace/, once.
const Eager& eager();

}  // namespace neap::tracing
