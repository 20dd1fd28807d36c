// jit on leaves; python/neap/_jit.py takes trees apart and makes the key of the signature.
#include <neap/aot.h>

#include "device.h"
#include "leaves.h"

namespace neap::python {
namespace {

// A state and the options that it was made with.
struct State {
  std::unique_ptr<detail::JitState> state;
};

constexpr auto make_state = [](nb::handle device, std::optional<size_t> budget, bool naive, bool deterministic,
                               bool donates, const std::string& name, std::optional<std::string> strategy,
                               std::optional<int64_t> chunks, std::optional<Limits> limits) -> State* {
  JitOptions options;
  if (!device.is_none()) options.device = device_from(device);
  options.memory_budget = budget;
  options.pipeline = naive ? Pipeline::naive : Pipeline::planned;
  options.deterministic = deterministic;
  if (donates) options.donate = {1};
  options.name = name;
  options.strategy = std::move(strategy);
  options.chunks = chunks;
  options.limits = std::move(limits);
  return new State{std::make_unique<detail::JitState>(std::move(options))};
};

// A call's leaves are of two arguments for C++: those that are kept, and those that are donated.
detail::FlatCall flat_call(nb::list leaves, nb::handle donated, nb::bytes key, std::source_location loc) {
  detail::FlatCall call;
  call.leaves = leaves_from(leaves, loc);
  call.arguments = 2;
  call.argument.assign(call.leaves.size(), 0);
  if (!donated.is_none())
    for (nb::handle i : donated) call.argument[nb::cast<size_t>(i)] = 1;
  call.statics.assign(key.c_str(), key.size());
  return call;
}

// f returns (leaves, structure); the structure is what C++ keeps with the compiled program.
detail::FlatFunction flat_function(nb::handle f) {
  return [f](const std::vector<Array>& leaves, detail::Prototype& prototype) {
    const nb::gil_scoped_acquire acquire;
    const nb::object both = f(list_of(leaves));
    prototype = hold(both[1]);
    return leaves_from(both[0], here());
  };
}

nb::tuple call(State& s, nb::callable f, nb::list leaves, nb::handle donated, nb::bytes key) {
  const std::source_location loc = here();
  detail::FlatCall flat = flat_call(leaves, donated, key, loc);
  const detail::FlatFunction function = flat_function(f);
  const void* prototype = nullptr;
  const std::vector<Array> out = unlocked([&] { return s.state->call(flat, function, prototype, loc); });
  flat.leaves.clear();
  return nb::make_tuple(list_of(out), nb::handle(static_cast<PyObject*>(const_cast<void*>(prototype))));
}

template <auto member>
auto with(State& s, nb::callable f, nb::list leaves, nb::handle donated, nb::bytes key) {
  const std::source_location loc = here();
  const detail::FlatCall flat = flat_call(leaves, donated, key, loc);
  const detail::FlatFunction function = flat_function(f);
  return unlocked([&] { return (s.state.get()->*member)(flat, function, loc); });
}

nb::tuple save(State& s, nb::callable f, nb::list leaves, nb::handle donated, nb::bytes key, const std::string& stem,
               const std::string& target, const std::string& cpu, std::vector<std::string> arguments,
               std::vector<std::string> results) {
  const std::source_location loc = here();
  const detail::FlatCall flat = flat_call(leaves, donated, key, loc);
  const detail::FlatFunction function = flat_function(f);
  const SaveOptions options{target, cpu, std::move(arguments), std::move(results)};
  const Saved saved = unlocked([&] { return s.state->save(flat, function, stem, options, loc); });
  return nb::make_tuple(saved.object.string(), saved.header.string(), saved.arena_bytes, saved.peak_bytes,
                        saved.needs_runtime, saved.plan);
}

}  // namespace

void bind_jit(nb::module_& m) {
  nb::class_<State>(m, "_JitState")
      .def(nb::new_(make_state), "device"_a.none(), "budget"_a.none(), "naive"_a, "deterministic"_a, "donates"_a,
           "name"_a, "strategy"_a.none(), "chunks"_a.none(), "limits"_a.none())
      .def("call", call, "f"_a, "leaves"_a, "donated"_a.none(), "key"_a)
      .def("plan", with<&detail::JitState::plan>, "f"_a, "leaves"_a, "donated"_a.none(), "key"_a)
      .def("tradeoff", with<&detail::JitState::tradeoff>, "f"_a, "leaves"_a, "donated"_a.none(), "key"_a)
      .def("compile", with<&detail::JitState::compile>, "f"_a, "leaves"_a, "donated"_a.none(), "key"_a)
      .def("save", save, "f"_a, "leaves"_a, "donated"_a.none(), "key"_a, "stem"_a, "target"_a, "cpu"_a, "arguments"_a,
           "results"_a)
      .def("last_plan", [](State& s) { return s.state->last_plan(here()); });
  m.def("set_num_threads", set_num_threads, "threads"_a,
        "Sets the number of worker threads; results never depend on it.");
  m.def("num_threads", num_threads, "The number of worker threads.");
}

}  // namespace neap::python
