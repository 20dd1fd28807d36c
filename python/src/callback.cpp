// Functions of Python that compiled code calls, on leaves; python/neap/_callback.py makes functions on trees of them.
#include <neap/callback.h>
#include <neap/creation.h>

#include "leaves.h"

namespace neap::python {
namespace {

// A function of Python may hand memory on, to NumPy or by DLPack, where nothing follows it when the plan takes it back,
// and arrays to other threads. So it is given arrays of their own memory, unless it is known to do neither.
detail::LeafFunction on_copies(detail::LeafFunction f) {
  return [f = std::move(f)](const std::vector<Array>& leaves) {
    std::vector<Array> copies;
    for (const Array& x : leaves) copies.push_back(detail::from_host(x.raw().data(), x.shape(), x.dtype(), {}));
    return f(copies);
  };
}

nb::list callback_of(const std::string& op, nb::callable f, nb::list leaves, nb::list results, bool effect,
                     bool copies) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(leaves, loc);
  std::vector<Aval> avals;
  for (const Array& x : leaves_from(results, loc)) avals.push_back(x.aval());
  const auto function = copies ? on_copies(leaf_function(f)) : leaf_function(f);
  return list_of(unlocked([&] { return detail::callback_of(op, function, in, avals, effect, loc); }));
}

}  // namespace

void bind_callback(nb::module_& m) {
  m.def("_callback", callback_of, "op"_a, "f"_a, "leaves"_a, "results"_a, "effect"_a, "copies"_a);
}

}  // namespace neap::python
