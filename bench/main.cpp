// neap-bench: the command that shows what Neap does. Parses the command line, runs each request in a fresh process
// (runner.h), and renders the rows as a table, JSON or HTML.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "bench/compare.h"
#include "bench/finish.h"
#include "bench/measure.h"
#include "bench/report_html.h"
#include "bench/scratch.h"
#include "bench/table.h"
#include "core/file.h"

namespace bench {
namespace {

// What does not arrive is found at the end (bench/finish.h).
void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_list() {
  for (const Case& c : all_cases()) {
    print(fmt::format("{}\n  {}\n  {} {}, full {}; dtypes {}", c.name, c.what, c.size_means, fmt::join(c.size, "x"),
                      fmt::join(c.full, "x"), fmt::join(c.dtypes, " ")));
    if (c.forms.size() > 1) print(fmt::format("; forms {}", fmt::join(c.forms, " ")));
    if (c.unders.size() > 1) print(fmt::format("; under {}", fmt::join(c.unders, " ")));
    print("\n");
  }
}

// Without --case: the cases that Neap exists for, at full size, and the one that no machine of this size can run, at
// one that it can. An empty pipeline means all that were asked for.
std::vector<Request> default_suite(Options o) {
  struct Entry {
    const char *name, *size, *pipeline;
    bool plan_only;
  };
  constexpr Entry kSuite[] = {
      {"random-normal", "full", "", false},    {"random-loop", "full", "", false},
      {"monte-carlo", "100000000", "", false}, {"monte-carlo", "full", "planned", false},
      {"gather-forward", "full", "", true},    {"gather-grad", "full", "", true},
      {"gather-grad", "67108864", "", false},
  };
  std::vector<Request> suite;
  const bool plan_only = o.plan_only;
  for (const Entry& e : kSuite) {
    if (*e.pipeline && o.pipeline != "both" && o.pipeline != e.pipeline) continue;
    o.size = e.size;
    o.plan_only = plan_only || e.plan_only;
    suite.push_back(resolve(find_case(e.name), o));
    suite.back().pipeline = e.pipeline;
  }
  return suite;
}

std::vector<Request> requests(const Options& o) {
  std::vector<Request> base;
  if (o.cases.empty()) base = default_suite(o);
  for (const auto& name : o.cases) base.push_back(resolve(find_case(name), o));
  std::vector<Request> all;
  for (const Request& r : base) {
    for (const std::string pipeline : {"naive", "planned"}) {
      if (r.pipeline.empty() ? o.pipeline != "both" && o.pipeline != pipeline : r.pipeline != pipeline) continue;
      all.push_back(r);
      all.back().pipeline = pipeline;
      if (o.pipeline != "both" || pipeline == "planned") continue;
      all.back().budget = 0, all.back().chunks = 0, all.back().strategy.clear();  // the planner's business
    }
  }
  return all;
}

// One line on standard error, rewritten; nothing unless a person is watching.
class ProgressLine {
 public:
  explicit ProgressLine(size_t total) : total_(total), on_(isatty(STDERR_FILENO) && isatty(STDOUT_FILENO)) {}
  ~ProgressLine() { clear(); }
  void show(size_t done, const std::string& what) {
    if (!on_) return;
    constexpr size_t kWidth = 20;
    const size_t filled = total_ ? kWidth * done / total_ : 0;
    fmt::print(stderr, "\r\033[K[{}{}] {}/{} {}", std::string(filled, '='), std::string(kWidth - filled, ' '), done + 1,
               total_, what.substr(0, 50));
    std::fflush(stderr);
  }
  void clear() {
    if (on_) fmt::print(stderr, "\r\033[K");
  }

 private:
  size_t total_;
  bool on_;
};

// A first call can only be measured once in a process: as many processes as reps, and their median.
RunResult run_request(const Request& request, const std::function<void(const std::string&)>& progress) {
  RunResult result = run_fresh(request, progress);
  if (!find_case(request.name).first_call || request.plan_only || result.exit_code != 0) return result;
  std::vector<double> seconds{result.row["seconds_median"].get<double>()};
  for (int i = 1; i < (request.reps > 0 ? request.reps : 5); ++i) {
    const RunResult again = run_fresh(request, progress);
    if (again.exit_code != 0) return again;
    seconds.push_back(again.row["seconds_median"].get<double>());
  }
  std::sort(seconds.begin(), seconds.end());
  const double elements = result.row["elements_per_second"].get<double>() * result.row["seconds_median"].get<double>();
  const double median = (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
  result.row["seconds_median"] = median;
  result.row["seconds_min"] = seconds.front();
  result.row["elements_per_second"] = elements / median;
  return result;
}

bool was_left_out(const Json& row) {
  const Json note = row.value("note", Json());
  return note.is_string() && note.get<std::string>().starts_with("not run");
}

struct Outcome {
  std::vector<Json> rows;
  std::vector<PlanPage> plans;
  std::vector<std::string> failures;
};

Outcome run_all(const Options& o, const ScratchFolder& scratch) {
  const std::vector<Request> all = requests(o);
  ProgressLine line(all.size());
  Outcome out;
  for (size_t i = 0; i < all.size(); ++i) {
    Request r = all[i];
    const std::string what = fmt::format("{} {}", r.name, r.pipeline);
    line.show(i, what);
    r.plan_html = o.html_file.empty() ? "" : scratch.file("plan.html");
    r.plan_file = o.plan_file.empty() ? "" : scratch.file("plan.json");
    r.trace_file = o.trace_file.empty() ? "" : scratch.file("trace.json");
    RunResult result = run_request(r, [&](const std::string& step) { line.show(i, what + ": " + step); });
    if (result.exit_code == 2) throw UsageError{result.error};
    if (result.exit_code != 0) {  // a defect: the other cases still have something to show
      out.failures.push_back(result.error);
      continue;
    }
    if (!r.plan_html.empty() && std::filesystem::exists(r.plan_html)) {
      out.plans.push_back({fmt::format("{} ({})", title(result.row), r.pipeline), neap::read_file(r.plan_html)});
      std::filesystem::remove(r.plan_html);
    }
    out.rows.push_back(std::move(result.row));
    const bool last_of_case = r.pipeline == "planned" || o.pipeline == "naive";
    if (o.limits && last_of_case) add_limits(r, out.rows);
    if (o.peers && last_of_case) add_peers(r, out.rows);
  }
  return out;
}

void write_results(const Options& o, const Outcome& out, const ScratchFolder& scratch) {
  // The last pipeline that ran is the planned one, where there are both: its plan and trace stay.
  if (!o.plan_file.empty() && std::filesystem::exists(scratch.file("plan.json"))) {
    write_file(o.plan_file, neap::read_file(scratch.file("plan.json")));
  }
  if (!o.trace_file.empty() && std::filesystem::exists(scratch.file("trace.json"))) {
    write_file(o.trace_file, neap::read_file(scratch.file("trace.json")));
  }
  if (!o.html_file.empty()) {
    write_file(o.html_file, render_html(out.rows, out.plans, facts_of_run(o.device, o.threads)));
  }
  if (o.json_file == "-") {
    print(Json(out.rows).dump(1) + "\n");
  } else {
    if (!o.json_file.empty()) write_file(o.json_file, Json(out.rows).dump(1) + "\n");
    print(render_table(out.rows));
  }
}

int run(int argc, char** argv) {
  const auto options = parse_options(argc, argv);
  if (!options) return 0;
  if (options->list) return print_list(), 0;
  for (const auto* path : {&options->plan_file, &options->json_file, &options->html_file, &options->trace_file}) {
    if (!path->empty() && *path != "-") require_writable(*path);
  }
  const ScratchFolder scratch;
  const Outcome out = run_all(*options, scratch);
  for (const auto& failure : out.failures) fmt::print(stderr, "neap-bench: {}\n", failure);
  if (out.rows.empty()) return 1;
  const bool nothing_ran = !options->plan_only && std::all_of(out.rows.begin(), out.rows.end(), was_left_out);
  if (nothing_ran) {
    if (options->json_file == "-") print(Json(out.rows).dump(1) + "\n");
    for (const Json& row : out.rows) {
      throw UsageError{fmt::format("{} {}: {}", title(row), row.value("pipeline", ""), row["note"].get<std::string>())};
    }
  }
  write_results(*options, out, scratch);
  return out.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  if (argc == 3 && !std::strcmp(argv[1], bench::kChildFlag)) return bench::measure_one(argv[2]);
  try {
    return bench::finish_output("neap-bench", bench::run(argc, argv));
  } catch (const bench::UsageError& e) {
    fmt::print(stderr, "neap-bench: {}\n", e.message);
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "neap-bench: {}\n", e.what());
    return 1;
  }
}
