// The tool holds no backend: complex numbers are lowered by array functions (planner/rewrite/complex.h), which could
// run ops at once outside a trace, and the planner is always inside one.
#include "core/check.h"
#include "trace/tracing/eager.h"

namespace neap::tracing {
namespace {

class Nothing : public Eager {
 public:
  Arrays run(const Graph&, const Arrays&) const override { refuse("graph"); }
  Arrays apply(Op, const Arrays&, const Attrs&, std::source_location) const override { refuse("op"); }
  Array composite(const std::string&, const Arrays&, const std::function<Array(const Arrays&)>&) const override {
    refuse("function");
  }

 private:
  [[noreturn]] static void refuse(std::string_view what) {
    throw InternalError("neap-plan runs no " + std::string(what));
  }
};

}  // namespace

const Eager& eager() {
  static const Nothing nothing;
  return nothing;
}

}  // namespace neap::tracing
