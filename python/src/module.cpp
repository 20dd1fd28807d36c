// _neap: the compiled half of the Python package. It binds what the public headers declare; trees, jit's signature and
// what else is easier said in Python is in python/neap.
#include <neap/version.h>

#include "args.h"
#include "interop.h"

#define NEAP_QUOTE(x) #x
#define NEAP_STRING(x) NEAP_QUOTE(x)

NB_MODULE(_neap, m) {
  using namespace neap::python;
  nb::set_leak_warnings(false);  // modules that end with the process leave their objects
  m.doc() = "The compiled half of neap.";
  m.attr("__version__") =
      NEAP_STRING(NEAP_VERSION_MAJOR) "." NEAP_STRING(NEAP_VERSION_MINOR) "." NEAP_STRING(NEAP_VERSION_PATCH);
  bind_errors(m);
  bind_dtype(m);
  m.def("_set_package_folder", set_package_folder, "folder"_a);
  m.def("_set_file_namer", set_file_namer, nb::arg("namer").none());
  Binder b{m, nb::class_<neap::Array>(m, "Array", nb::type_slots(array_slots()), nb::is_weak_referenceable(),
                                      "A handle to elements, to a value of a trace, or to a shape and dtype alone.")};
  bind_array(b);
  bind_operators(b);
  bind_index(b);
  bind_interop(b);
  bind_creation(b);
  bind_elementwise(b);
  bind_shape(b);
  bind_reduce(b);
  bind_search(b);
  bind_places(b);
  bind_products(b);
  bind_nn(m.def_submodule("nn", "Activations, and attention."));
  bind_random(m.def_submodule("random", "Random numbers: pure functions of a key."));
  bind_linalg(m.def_submodule("linalg", "Linear algebra."));
  bind_fft(m.def_submodule("fft", "Fourier transforms."));
  bind_special(m.def_submodule("special", "Special functions."));
  bind_signal(m.def_submodule("signal", "Convolutions of several axes."));
  bind_image(m.def_submodule("image", "Images."));
  bind_lax(m.def_submodule("lax", "General forms."));
  bind_ops(m.def_submodule("ops", "Reductions of segments."));
  bind_tree(m);
  bind_plan(m);
  bind_jit(m);
  bind_transforms(m);
  bind_control(m);
  bind_solvers(m);
  bind_callback(m);
  bind_debug(m);
  bind_device(m);
  // What `from _neap import *` takes: neap has modules of its own in the place of the submodules.
  nb::list names;
  for (auto [name, value] : nb::cast<nb::dict>(m.attr("__dict__")))
    if (!nb::isinstance<nb::module_>(value) && nb::cast<std::string>(name)[0] != '_') names.append(name);
  m.attr("__all__") = names;
}
