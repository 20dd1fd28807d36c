// Functions of Python that compiled code calls, on leaves; python/neap/_callback.py makes functions on trees of them.
#include <neap/callback.h>

#include "leaves.h"

namespace neap::python {
namespace {

nb::list callback_of(const std::string& op, nb::callable f, nb::list leaves, nb::list results, bool effect) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(leaves, loc);
  std::vector<Aval> avals;
  for (const Array& x : leaves_from(results, loc)) avals.push_back(x.aval());
  const auto function = leaf_function(f);
  return list_of(unlocked([&] { return detail::callback_of(op, function, in, avals, effect, loc); }));
}

}  // namespace

void bind_callback(nb::module_& m) {
  m.def("_callback", callback_of, "op"_a, "f"_a, "leaves"_a, "results"_a, "effect"_a);
}

}  // namespace neap::python
