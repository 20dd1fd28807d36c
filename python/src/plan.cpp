// Plan and Tradeoff: what a compiled function will do and hold.
#include <neap/bytes.h>

#include "args.h"

namespace neap::python {

void bind_plan(nb::module_& m) {
  nb::class_<Plan>(m, "Plan", "What a call does, step by step, and the memory that it holds: known before it runs.",
                   nb::dynamic_attr())
      .def_prop_ro("peak_bytes", &Plan::peak_bytes,
                   "The most bytes that a run holds at once. Its allocator reaches exactly this.")
      .def_prop_ro("lower_bound_bytes", &Plan::lower_bound_bytes,
                   "The largest sum of live bytes: no placement can be below it.")
      .def_prop_ro("naive_peak_bytes", &Plan::naive_peak_bytes,
                   "The peak that a framework without a planner would have.")
      .def_prop_ro("host_bytes", &Plan::host_bytes,
                   "The most bytes that a run holds on the host for what a GPU leaves to it.")
      .def_prop_ro("num_steps", &Plan::num_steps, "The number of steps, those in bodies of loops aside.")
      .def_prop_ro(
          "strategies", [](const Plan& p) { return std::vector<std::string>(p.strategies()); },
          "The names of the strategies in use.")
      .def("decision", &Plan::decision, "what"_a, "What the planner chose for the decision whose name contains `what`.")
      .def("to_text", &Plan::to_text, "A table, one line a step, the peak marked.")
      .def("to_json", &Plan::to_json, "The plan as JSON.")
      .def("to_html", &Plan::to_html, "The plan as one self-contained page.")
      .def("__str__", &Plan::to_text)
      .def("__repr__", [](const Plan& p) {
        return "<Plan: " + std::to_string(p.num_steps()) + " steps, peak " + format_bytes(p.peak_bytes()) + ">";
      });
  nb::class_<Tradeoff>(m, "Tradeoff", "A plan that a budget could get: one point of the curve of peak against time.")
      .def_ro("peak_bytes", &Tradeoff::peak_bytes, "In all, as Plan.peak_bytes.")
      .def_ro("predicted_seconds", &Tradeoff::predicted_seconds, "Of the cost model, on two threads: for comparing.")
      .def_ro("how", &Tradeoff::how, "The strategy and what it does.")
      .def("__repr__",
           [](const Tradeoff& t) { return "<Tradeoff: " + format_bytes(t.peak_bytes) + ", " + t.how + ">"; });
  m.def("format_bytes", format_bytes, "bytes"_a, "Writes \"1.50 MiB\".");
  m.def(
      "parse_bytes",
      [](const std::string& text) {
        const std::optional<size_t> bytes = parse_bytes(text);
        if (!bytes)
          throw_user<OptionError>("parse_bytes", "\"" + text + "\"", "\"512MiB\", \"1.5GB\" or a number", "", here());
        return *bytes;
      },
      "text"_a, "Reads \"512MiB\".");
}

}  // namespace neap::python
