// debug_nans and debug_infs, as `with` has them.
#include "args.h"

namespace neap::python {
namespace {

template <class Scope>
struct Check {
  bool wanted;
  std::unique_ptr<Scope> scope;
};

template <class Scope>
void bind_check(nb::module_& m, const char* name, const char* doc) {
  using Of = Check<Scope>;
  nb::class_<Of>(m, name, doc)
      .def(nb::new_([](bool wanted) { return new Of{wanted, nullptr}; }), "enable"_a = true)
      .def("__enter__",
           [](Of& c) {
             if (c.wanted) c.scope = std::make_unique<Scope>();
           })
      .def("__exit__", [](Of& c, nb::args) { c.scope.reset(); }, "exception"_a);
}

}  // namespace

void bind_debug(nb::module_& m) {
  bind_check<debug_nans>(m, "debug_nans",
                         "Within `with debug_nans():` a result that holds a NaN is a FloatingPointError, which names "
                         "the operation and line that made it.");
  bind_check<debug_infs>(m, "debug_infs", "Does the same for infinities.");
}

}  // namespace neap::python
