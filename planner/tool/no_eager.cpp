// The tool holds no backend: complex numbers are lowered by array functions (planner/rewrite/complex.h), which could
// run ops at once outside a trace, and the planner is always inside one.
#include "core/check.h"
#include "trace/tracing/tracing.h"

namespace neap::tracing {

Arrays run_eagerly(const Graph&, const Arrays&) { throw InternalError("neap-plan runs no graph"); }
Arrays apply_eagerly(Op, const Arrays&, const Attrs&, std::source_location) {
  throw InternalError("neap-plan runs no op");
}
Array composite(const std::string&, const Arrays& inputs, const std::function<Array(const Arrays&)>& f) {
  return f(inputs);
}

}  // namespace neap::tracing
