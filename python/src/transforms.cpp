// Transforms on leaves; python/neap/_transforms.py makes functions on trees of them.
#include "leaves.h"

namespace neap::python {

std::vector<Array> leaves_from(nb::handle list, std::source_location loc) {
  std::vector<Array> arrays;
  for (nb::handle one : list) arrays.push_back(array_from(one, loc));
  return arrays;
}

nb::list list_of(const std::vector<Array>& arrays) {
  nb::list list;
  for (const Array& array : arrays) list.append(nb::cast(array));
  return list;
}

detail::LeafFunction leaf_function(nb::handle f) {
  return [held = hold(f)](const std::vector<Array>& leaves) {
    const nb::gil_scoped_acquire acquire;
    return leaves_from(nb::handle(held.get())(list_of(leaves)), here());
  };
}

namespace {

using Leaves = nb::list;

nb::list grad_of(nb::callable f, Leaves leaves, bool with_value, bool holomorphic) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(leaves, loc);
  const std::vector<int> argument_of(in.size(), 0);
  const auto function = leaf_function(f);
  return list_of(
      unlocked([&] { return detail::grad_of(function, in, argument_of, {0}, with_value, holomorphic, loc); }));
}

nb::list jvp_of(nb::callable f, Leaves primals, Leaves tangents) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(primals, loc), t = leaves_from(tangents, loc);
  const auto function = leaf_function(f);
  return list_of(unlocked([&] { return detail::jvp_of(function, in, t, loc); }));
}

template <auto transform>
nb::tuple linear_of(nb::callable f, Leaves leaves) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(leaves, loc);
  const auto function = leaf_function(f);
  detail::Linear linear = unlocked([&] { return transform(function, in, loc); });
  return nb::make_tuple(list_of(linear.value), nb::cast(std::move(linear.map)));
}

nb::list apply_linear(const detail::LinearMap& map, Leaves inputs) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(inputs, loc);
  return list_of(unlocked([&] { return map(in, loc); }));
}

// Each leaf is an argument of its own, so that each has an axis of its own.
nb::list vmap_of(nb::callable f, Leaves leaves, std::vector<std::optional<int64_t>> in_axes) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(leaves, loc);
  std::vector<int> argument_of(in.size());
  for (size_t i = 0; i < in.size(); ++i) argument_of[i] = static_cast<int>(i);
  const auto function = leaf_function(f);
  const VmapOptions options{std::move(in_axes), 0};
  return list_of(unlocked([&] { return detail::vmap_of(function, in, argument_of, in.size(), options, loc); }));
}

nb::list jacobian_of(nb::callable f, Leaves leaves, bool forward, bool holomorphic) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(leaves, loc);
  const std::vector<int> argument_of(in.size(), 0);
  const auto function = leaf_function(f);
  return list_of(
      unlocked([&] { return detail::jacobian_of(function, in, argument_of, 0, forward, holomorphic, loc); }));
}

nb::list custom_jvp_of(nb::callable f, nb::callable rule, Leaves leaves) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(leaves, loc);
  const auto function = leaf_function(f), derivative = leaf_function(rule);
  return list_of(unlocked([&] { return detail::custom_jvp_of(function, derivative, in, loc); }));
}

nb::list custom_vjp_of(nb::callable f, nb::callable forward, nb::callable backward, Leaves leaves) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(leaves, loc);
  const auto function = leaf_function(f);
  const auto first = [held = hold(forward)](const std::vector<Array>& x) {
    const nb::gil_scoped_acquire acquire;
    const nb::object both = nb::handle(held.get())(list_of(x));
    return std::pair{leaves_from(both[0], here()), leaves_from(both[1], here())};
  };
  const auto second = [held = hold(backward)](const std::vector<Array>& residuals,
                                              const std::vector<Array>& cotangents) {
    const nb::gil_scoped_acquire acquire;
    return leaves_from(nb::handle(held.get())(list_of(residuals), list_of(cotangents)), here());
  };
  return list_of(unlocked([&] { return detail::custom_vjp_of(function, first, second, in, loc); }));
}

// While it is entered, what is traced is part of a checkpoint.
struct Scope {
  std::string saveable;
  std::unique_ptr<detail::CheckpointScope> scope;
};

}  // namespace

void bind_transforms(nb::module_& m) {
  m.def("_tracing_now", [] { return detail::tracing_now(here()); });
  m.def("_grad", grad_of, "f"_a, "leaves"_a, "with_value"_a, "holomorphic"_a);
  m.def("_jvp", jvp_of, "f"_a, "primals"_a, "tangents"_a);
  nb::class_<detail::LinearMap>(m, "_LinearMap").def("__call__", apply_linear, "inputs"_a);
  m.def("_vjp", linear_of<detail::vjp_of>, "f"_a, "leaves"_a);
  m.def("_linearize", linear_of<detail::linearize_of>, "f"_a, "leaves"_a);
  m.def("_vmap", vmap_of, "f"_a, "leaves"_a, "in_axes"_a);
  m.def("_jacobian", jacobian_of, "f"_a, "leaves"_a, "forward"_a, "holomorphic"_a);
  m.def("_custom_jvp", custom_jvp_of, "f"_a, "rule"_a, "leaves"_a);
  m.def("_custom_vjp", custom_vjp_of, "f"_a, "forward"_a, "backward"_a, "leaves"_a);
  m.def(
      "_trace_text",
      [](nb::callable f, Leaves leaves) {
        const std::source_location loc = here();
        const std::vector<Array> in = leaves_from(leaves, loc);
        return detail::trace_of(leaf_function(f), in, loc).text();
      },
      "f"_a, "leaves"_a);
  nb::class_<Scope>(m, "_CheckpointScope")
      .def(nb::new_([](std::string saveable) { return new Scope{std::move(saveable), nullptr}; }), "saveable"_a)
      .def("__enter__", [](Scope& s) { s.scope = std::make_unique<detail::CheckpointScope>(s.saveable); })
      .def("__exit__", [](Scope& s, nb::args) { s.scope.reset(); }, "exception"_a);
  m.def(
      "_save_only_these_names",
      [](const std::vector<std::string>& names) {
        return checkpoint_policies::save_only_these_names(names, here()).saveable;
      },
      "names"_a);
  m.def(
      "_policy",
      [](const std::string& name) {
        return name == "everything" ? checkpoint_policies::everything_saveable.saveable
               : name == "dots"     ? checkpoint_policies::dots_saveable.saveable
                                    : checkpoint_policies::nothing_saveable.saveable;
      },
      "name"_a);
  m.def(
      "checkpoint_name", [](Arg x, const std::string& name) { return checkpoint_name(x.array(), name, here()); }, "x"_a,
      "name"_a, "Returns x, whose computation has a name that save_only_these_names() can say.");
}

}  // namespace neap::python
