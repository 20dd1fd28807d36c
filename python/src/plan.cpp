// Plan and Tradeoff: what a compiled function will do and hold. Profile: what ran when.
#include <neap/bytes.h>
#include <neap/profile.h>

#include <nanobind/stl/filesystem.h>

#include "args.h"

namespace neap::python {

namespace {

// Records between __enter__ and __exit__; what it recorded stays.
class Recording {
 public:
  explicit Recording(std::optional<std::filesystem::path> path) : path_(std::move(path)) {}

  void begin() {
    if (running_) throw_user<UserError>("Profile", "one that records already", "one that does not", "", here());
    running_ = std::make_unique<Profile>(here());
  }
  // Of an exception that leaves the `with` nothing is hidden by a file that cannot be written.
  void end(bool raised) {
    const std::unique_ptr<Profile> ended = std::move(running_);
    if (!ended) return;
    slices_ = ended->slices();
    try {
      if (path_) ended->write_json(*path_, here());
    } catch (const UserError&) {
      if (!raised) throw;
    }
  }
  std::vector<Profile::Slice> slices() const { return running_ ? running_->slices() : slices_; }

 private:
  std::optional<std::filesystem::path> path_;
  std::unique_ptr<Profile> running_;
  std::vector<Profile::Slice> slices_;
};

void bind_profile(nb::module_& m) {
  nb::class_<Profile::Slice>(m, "ProfileSlice", "One step of one run.")
      .def_ro("plan", &Profile::Slice::plan, "The plan's name.")
      .def_ro("op", &Profile::Slice::op, "As in the plan's report.")
      .def_ro("strategy", &Profile::Slice::strategy, "As in the plan's report.")
      .def_ro("begin", &Profile::Slice::begin, "Seconds of a steady clock.")
      .def_ro("end", &Profile::Slice::end, "Seconds of the same clock.")
      .def_ro("live_bytes", &Profile::Slice::live_bytes, "What the plan holds during the step.")
      .def("__repr__", [](const Profile::Slice& s) {
        return "<ProfileSlice: " + s.op + " of " + s.plan + ", " + format_bytes(s.live_bytes) + " live>";
      });
  nb::class_<Recording>(m, "Profile",
                        "Records the steps of every plan that any thread runs within `with Profile() as p:`. One may "
                        "run at a time. With a path, Chrome's trace-event JSON is written there at the end, which "
                        "Perfetto (ui.perfetto.dev) opens: steps are slices, live bytes a counter.")
      .def(nb::init<std::optional<std::filesystem::path>>(), "path"_a = nb::none())
      .def(
          "__enter__",
          [](nb::handle self) {
            nb::cast<Recording&>(self).begin();
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> Profile"))
      .def(
          "__exit__", [](Recording& r, nb::handle type, nb::handle, nb::handle) { r.end(!type.is_none()); },
          "type"_a.none(), "value"_a.none(), "traceback"_a.none(),
          nb::sig("def __exit__(self, type: object, value: object, traceback: object) -> None"))
      .def_prop_ro("slices", &Recording::slices, "What ran so far, or within the `with`, in order of its end.");
}

}  // namespace

void bind_plan(nb::module_& m) {
  bind_profile(m);
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
