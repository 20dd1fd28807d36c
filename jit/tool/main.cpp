// neap-aot: compiles a graph that NEAP_DUMP wrote into an object file and a header, as neap::save does with a function.
// Exit code 0: both are written; 1: no plan fits the budget; 2: the command or a file makes no sense. Nothing is
// written then.
#include <fmt/format.h>
#include <neap/bytes.h>
#include <neap/error.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "core/file.h"
#include "jit/compile.h"
#include "jit/save.h"
#include "trace/graph/graph.h"

namespace neap::jit_detail {
namespace {

struct Request {
  std::string graph, stem;
  SaveOptions how;
  std::optional<size_t> budget;
  std::vector<int> donated;
};

int run(const Request& request) {
  tracing::TracedFunction function;
  const std::string text = read_file(request.graph);
  try {
    function.graph = tracing::parse(text);
  } catch (const std::exception& e) {
    throw UserError(request.graph + ": " + e.what());
  }
  planner::PlanOptions options;
  options.name = function.graph.name;
  options.memory_budget = request.budget;
  options.target = target_of(cpu());
  const auto inputs = static_cast<int>(function.graph.inputs.size());
  const int arguments = inputs - function.graph.num_captured;
  options.donated.resize(function.graph.inputs.size(), false);
  for (const int i : request.donated) {
    if (i < 0 || i >= arguments) {
      throw UserError(fmt::format("--donate: got {}; expected an array from 0 to {}", i, arguments - 1));
    }
    options.donated[static_cast<size_t>(i)] = true;
  }
  try {
    const Saved saved = save(function, options, cpu(), request.stem, request.how, {});
    fmt::print("{}, {}: arena {} ({} bytes), peak {} ({} bytes){}\n", saved.object.string(), saved.header.string(),
               format_bytes(saved.arena_bytes), saved.arena_bytes, format_bytes(saved.peak_bytes), saved.peak_bytes,
               saved.needs_runtime ? ", calls libneap-runtime.a" : "");
    return 0;
  } catch (const BudgetError& e) {
    fmt::print(stderr, "neap-aot: {}\n", e.what());
    return 1;
  }
}

int run(int argc, char** argv) {
  Request request;
  CLI::App app("Compiles a graph into an object file with one function of C, and its header.", "neap-aot");
  app.get_formatter()->column_width(24);
  app.add_option("graph", request.graph, "what NEAP_DUMP wrote (NUMBER-NAME.graph.txt)")->required();
  app.add_option("-o,--output", request.stem, "STEM.o and STEM.h; the function is called so")
      ->required()
      ->type_name("STEM");
  app.add_option("--target", request.how.target, "x86-64 or aarch64 (default: this machine's)")->type_name("TRIPLE");
  app.add_option("--cpu", request.how.cpu, "as LLVM names it (default: this one)")->type_name("NAME");
  app.add_option("--budget", request.budget, "bytes that a call may hold")->type_name("BYTES");
  app.add_option("--donate", request.donated, "arrays that the function takes: 0,2")->delimiter(',');
  app.add_option("--arguments", request.how.arguments, "their names: state,goal")->delimiter(',');
  app.add_option("--results", request.how.results, "their names")->delimiter(',');
  app.footer(
      "Captured arrays of the graph become arguments. More in docs/ahead-of-time.md.\n"
      "Exit code: 0 both files are written, 1 no plan fits the budget, 2 the\n"
      "command or a file makes no sense.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "neap-aot: {}; --help lists what there is\n", e.what());
    return 2;
  }
  return run(request);
}

}  // namespace
}  // namespace neap::jit_detail

int main(int argc, char** argv) {
  try {
    const int code = neap::jit_detail::run(argc, argv);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
    fmt::print(stderr, "neap-aot: standard output: {}\n", std::generic_category().message(errno ? errno : EIO));
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "neap-aot: {}\n", e.what());
    return 2;
  }
}
