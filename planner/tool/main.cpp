// neap-plan: looks at plans, and places live ranges of any origin with the planner's own placing. Exit code 0: all is
// well; 1: it does not fit, a plan breaks a promise or got worse; 2: the command or a file makes no sense.
#include <fmt/format.h>
#include <neap/bytes.h>
#include <neap/error.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <system_error>

#include "core/file.h"
#include "planner/place/live_ranges.h"
#include "planner/place/place.h"
#include "planner/plan/limits.h"
#include "planner/plan/plan.h"
#include "planner/report/check.h"
#include "planner/report/diff.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "trace/graph/graph.h"

namespace neap::planner {
namespace {

constexpr double kMostSeconds = 1e9;

PlanData read_plan(const std::string& path) { return parse_plan(read_file(path), path); }

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

struct PlaceRequest {
  std::string file;
  int64_t capacity = 0;
  double seconds = 10;
};

int run_place(const PlaceRequest& request) {
  const std::vector<LiveRange> ranges = parse_live_ranges(read_file(request.file), request.file);
  const std::vector<Block> blocks = to_blocks(ranges);
  const auto begin = std::chrono::steady_clock::now();
  const Placement placement = place(blocks, {.work = std::numeric_limits<int64_t>::max(),
                                             .seconds = request.seconds,
                                             .enough = static_cast<size_t>(request.capacity)});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  print(print_live_ranges(ranges, placement.offsets));
  const size_t bound = placement.lower_bound;
  const auto fault = find_fault(ranges, placement.offsets, request.capacity);
  fmt::print(stderr, "{} buffers, height {}, lower bound {} ({:.4f} x), {:.3f} s\n", ranges.size(), placement.extent,
             bound, bound ? static_cast<double>(placement.extent) / static_cast<double>(bound) : 1.0, seconds);
  if (!fault) {
    fmt::print(stderr, "fits {}\n", request.capacity);
    return 0;
  }
  fmt::print(stderr, "does not fit {}: {}\n", request.capacity, *fault);
  if (bound > static_cast<size_t>(request.capacity)) {
    fmt::print(stderr, "nothing can: the lower bound is above it\n");
  } else if (placement.extent == bound) {
    fmt::print(stderr, "nothing can: this is the lowest\n");
  }
  return 1;
}

int run_show(const std::string& file, const std::string& html) {
  const PlanData plan = read_plan(file);
  if (!html.empty()) write_file_atomic(html, to_html(plan));
  print(to_text(plan));
  return 0;
}

int run_check(const std::string& file) {
  const PlanData plan = read_plan(file);
  const std::vector<std::string> faults = check_plan(plan);
  for (const std::string& fault : faults) fmt::print("{}\n", fault);
  if (!faults.empty()) return 1;
  fmt::print("good: {} steps, {} buffers, peak {} ({} bytes)\n", plan.steps.size(), plan.buffers.size(),
             format_bytes(plan.peak_bytes), plan.peak_bytes);
  return 0;
}

struct PlanRequest {
  std::string graph, limits, json, html;
  std::optional<size_t> budget;
};

int run_plan(const PlanRequest& request) {
  PlanOptions options;
  tracing::Graph graph;
  const std::string text = read_file(request.graph);
  try {
    graph = tracing::parse(text);
  } catch (const std::exception& e) {
    throw UserError(request.graph + ": " + e.what());
  }
  options.name = graph.name;
  options.memory_budget = request.budget;
  if (!request.limits.empty()) {
    const Limits limits = parse_limits(read_file(request.limits), request.limits);
    options.target = target_of(limits);
    if (limits.memory > 0) options.memory_budget = std::min(options.memory_budget.value_or(SIZE_MAX), limits.memory);
  }
  std::optional<AtomicFile> json, html;  // neither appears where the other cannot
  if (!request.json.empty()) json.emplace(request.json);
  if (!request.html.empty()) html.emplace(request.html);
  const auto put = [](AtomicFile& file, const std::string& contents) { file.write(contents.data(), contents.size()); };
  try {
    const PlanData plan = make_plan(graph, options);
    if (json) put(*json, to_json(plan));
    if (html) put(*html, to_html(plan));
    if (json) json->commit();
    if (html) html->commit();
    print(to_text(plan));
    return 0;
  } catch (const BudgetError& e) {
    fmt::print(stderr, "neap-plan: {}\n", e.what());
  } catch (const OutOfMemoryError& e) {
    fmt::print(stderr, "neap-plan: {}\n", e.what());
  }
  return 1;
}

int run_diff(const std::string& before, const std::string& after) {
  const PlanDiff diff = diff_plans(read_plan(before), read_plan(after));
  print(diff.text);
  return diff.worse ? 1 : 0;
}

int run(int argc, char** argv) {
  CLI::App app("Looks at plans, and places live ranges as the planner does.", "neap-plan");
  app.get_formatter()->column_width(24);
  app.require_subcommand(1);
  app.footer("Exit code: 0 all is well, 1 it is not, 2 the command or a file makes no sense.");

  PlaceRequest place_request;
  CLI::App* place = app.add_subcommand("place", "offsets for live ranges, within a capacity");
  place->add_option("file", place_request.file, "CSV with columns id, lower, upper, size")->required();
  place->add_option("--capacity", place_request.capacity, "bytes that all must fit in")
      ->required()
      ->type_name("BYTES")
      ->check([](const std::string& text) {
        int64_t bytes = -1;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
        const bool good = error == std::errc() && end == text.data() + text.size() && bytes >= 0;
        return good ? "" : fmt::format("expected 0 to {} bytes, got {}", std::numeric_limits<int64_t>::max(), text);
      });
  place->add_option("--seconds", place_request.seconds, "most time to search (default: 10)")
      ->check([](const std::string& text) {
        double seconds = -1;
        const char* last = text.data() + text.size();
        const bool whole = std::from_chars(text.data(), last, seconds) == std::from_chars_result{last, std::errc{}};
        const bool good = whole && seconds >= 0 && seconds <= kMostSeconds;
        return good ? "" : "expected 0 to 1e9 seconds, got " + text;
      });
  place->footer("Writes id,lower,upper,size,offset; a summary goes to standard error.");

  std::string file, second, html;
  CLI::App* show = app.add_subcommand("show", "a plan as text, and as a page");
  show->add_option("plan", file, "JSON that a plan wrote")->required();
  show->add_option("--html", html, "write the page there");
  PlanRequest plan_request;
  CLI::App* plan = app.add_subcommand("plan", "plans a graph, for a device that need not be here");
  plan->add_option("graph", plan_request.graph, "graph that NEAP_DUMP wrote (NUMBER-NAME.graph.txt)")->required();
  plan->add_option("--limits", plan_request.limits, "JSON of the device's limits (docs/devices.md)");
  plan->add_option_function<std::string>(
          "--budget", [&](const std::string& text) { plan_request.budget = parse_bytes(text); },
          "bytes that a run may hold, such as 512MiB")
      ->type_name("BYTES")
      ->check([](const std::string& text) {
        return parse_bytes(text) ? "" : "expected bytes such as 4096 or 512MiB, got " + text;
      });
  plan->add_option("--json", plan_request.json, "write the plan there");
  plan->add_option("--html", plan_request.html, "write the page there");
  CLI::App* check = app.add_subcommand("check", "whether a plan keeps its promises");
  check->add_option("plan", file, "JSON that a plan wrote")->required();
  CLI::App* diff = app.add_subcommand("diff", "what got worse, and why");
  diff->add_option("before", file, "JSON that a plan wrote")->required();
  diff->add_option("after", second, "JSON that a plan wrote")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "neap-plan: {}; --help lists what there is\n", e.what());
    return 2;
  }
  if (*place) return run_place(place_request);
  if (*plan) return run_plan(plan_request);
  if (*show) return run_show(file, html);
  if (*check) return run_check(file);
  return run_diff(file, second);
}

}  // namespace
}  // namespace neap::planner

int main(int argc, char** argv) {
  try {
    const int code = neap::planner::run(argc, argv);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
    fmt::print(stderr, "neap-plan: standard output: {}\n", std::generic_category().message(errno ? errno : EIO));
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "neap-plan: {}\n", e.what());
    return 2;
  }
}
