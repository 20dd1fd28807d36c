#include "bench/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/bytes.h>
#include <neap/device.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <numeric>

#include "bench/case.h"
#include "core/thread_pool.h"

namespace bench {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row.back();
}

struct Flags {
  CLI::App app{"Runs Neap's benchmark cases, each in a fresh process, planned beside naive.", "neap-bench"};
  std::string budget;
};

void declare(Flags& f, Options& o) {
  const CLI::Range at_least_one(1, 1 << 30);
  CLI::App& app = f.app;
  app.add_flag("--list", o.list, "print every case: default size, full size, dtypes, forms");
  app.add_option("--case", o.cases, "case to run; may be repeated (default: the suite that README.md describes)")
      ->delimiter(',');
  app.add_option("--pipeline", o.pipeline, "naive, planned or both")->type_name("P");
  app.add_option("--size", o.size, "full, or extents such as 4096x4096 (gather: rows; loops: steps)");
  app.add_option("--dtype", o.dtype, "element type of the output, or of the indices for the gather cases");
  app.add_option("--under", o.under, "transform around the case: none, vmap8, grad or scan");
  app.add_option("--form", o.form, "how the case is written; --list names the forms");
  app.add_option("--strategy", o.strategy, "pin this strategy wherever the planner may choose it");
  app.add_option("--chunks", o.chunks, "number of slices, for --strategy chunked and subkey")->check(at_least_one);
  app.add_option("--device", o.device, "cpu, vulkan or vulkan:N (default: as NEAP_DEVICE says)");
  app.add_option("--budget", f.budget, "memory budget of the planned pipeline, such as 512MiB");
  app.add_option("--threads", o.threads, "threads (default: all cores)")->check(CLI::Range(1, neap::kMostThreads));
  app.add_option("--reps", o.reps, "timed repetitions (default: up to 5 within 10 s)")->check(at_least_one);
  app.add_flag("--plan-only", o.plan_only, "plan, do not run");
  app.add_flag("--limits", o.limits, "also run the hand-written kernels of bench/limits");
  app.add_flag("--peers", o.peers, "also run the peers, with the Python of $NEAP_PEERS_PYTHON");
  app.add_option("--plan", o.plan_file, "write the plan as JSON");
  app.add_option("--json", o.json_file, "write the results as JSON; - is standard output, and nothing else goes there");
  app.add_option("--html", o.html_file, "write a report that opens in a browser");
  app.add_option("--trace", o.trace_file, "write a trace that opens in Perfetto");
}

[[noreturn]] void unknown_flag(const Flags& f, const std::string& flag) {
  std::vector<std::string> names{"--help"};
  for (const CLI::Option* option : f.app.get_options()) names.push_back(option->get_name());
  throw UsageError{fmt::format("unknown argument '{}'{}; --help lists all", flag, did_you_mean(flag, names))};
}

void check(Options& o, const std::string& budget) {
  std::vector<std::string> names;
  for (const Case& c : all_cases()) names.push_back(c.name);
  for (const auto& name : o.cases) require_one_of("case", name, names);
  require_one_of("pipeline", o.pipeline, {"naive", "planned", "both"});
  require_one_of("transform for --under", o.under, {"none", "vmap8", "grad", "scan"});
  if (!budget.empty()) {
    o.budget = neap::parse_bytes(budget);
    if (!o.budget)
      throw UsageError{fmt::format("--budget '{}' is not a number of bytes; write 512MiB, 4GiB, ...", budget)};
  }
  if (o.chunks > 0 && o.strategy.empty()) throw UsageError{"--chunks needs --strategy chunked or --strategy subkey"};
  if (o.device.empty()) o.device = neap::to_string(neap::default_device());
  if (o.device != "cpu" && o.device != "vulkan") {
    int index = 0;
    const char *first = o.device.c_str() + 7, *last = o.device.c_str() + o.device.size();
    const bool numbered = o.device.starts_with("vulkan:") && last > first &&
                          std::from_chars(first, last, index) == std::from_chars_result{last, std::errc{}};
    if (!numbered) throw UsageError{fmt::format("unknown device '{}'; one of: cpu, vulkan, vulkan:N", o.device)};
  }
  for (const auto& name : o.cases) resolve(find_case(name), o);  // throws for what the case does not offer
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  size_t distance = 1 + std::max<size_t>(2, word.size() / 3);
  for (const auto& c : candidates) {
    // A word that is the start of a name is near it, however much is missing.
    const size_t d = c.starts_with(word) && word.size() > 2 ? 1 : edit_distance(word, c);
    if (d < distance) distance = d, best = &c;
  }
  return best ? fmt::format("; did you mean '{}'?", *best) : std::string();
}

void require_one_of(std::string_view what, const std::string& value, const std::vector<std::string>& candidates) {
  if (std::find(candidates.begin(), candidates.end(), value) != candidates.end()) return;
  throw UsageError{fmt::format("unknown {} '{}'{} (one of: {})", what, value, did_you_mean(value, candidates),
                               fmt::join(candidates, ", "))};
}

std::vector<int64_t> parse_extents(const std::string& text) {
  std::vector<int64_t> extents;
  constexpr int64_t kMost = int64_t{1} << 62;
  const auto bad = [&] {
    return UsageError{
        fmt::format("--size '{}' is no size; write full, one number, or extents such as 4096x4096", text)};
  };
  const char *at = text.data(), *end = at + text.size();
  int64_t product = 1;
  while (true) {
    int64_t n = -1;
    const auto [next, error] = std::from_chars(at, end, n);
    if (error != std::errc{} || n < 0) throw bad();
    if (n > 0 && product > kMost / n) throw UsageError{fmt::format("--size '{}' has more than 2^62 elements", text)};
    product *= std::max<int64_t>(n, 1);
    extents.push_back(n);
    if (next == end) return extents;
    if (*next != 'x') throw bad();
    at = next + 1;
  }
}

std::optional<Options> parse_options(int argc, const char* const* argv) {
  Flags flags;
  Options options;
  declare(flags, options);
  try {
    flags.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(flags.app.help().c_str(), stdout);
    return std::nullopt;
  } catch (const CLI::ExtrasError&) {
    const auto extras = flags.app.remaining();
    unknown_flag(flags, extras.empty() ? "" : extras.front());
  } catch (const CLI::ParseError& e) {
    throw UsageError{fmt::format("{}; --help lists all flags", e.what())};
  }
  check(options, flags.budget);
  return options;
}

}  // namespace bench
