#include "jit/save.h"

#include <fmt/format.h>
#include <neap/bytes.h>
#include <neap/error.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <unordered_set>

#include "core/at_line.h"
#include "core/file.h"
#include "jit/compile.h"
#include "jit/saved_names.h"
#include "planner/search/make_plan.h"
#include "trace/graph/collective.h"
#include "trace/graph/effects.h"

namespace neap::jit_detail {
namespace {

// The given names, or the letter with numbers.
std::vector<std::string> names_of(const std::vector<std::string>& given, size_t count, const std::string& what,
                                  char letter, std::source_location loc) {
  if (!given.empty() && given.size() != count) {
    throw_user<OptionError>("save", fmt::format("{} names of {}", given.size(), what),
                            fmt::format("{}, one for each array", count), "", loc);
  }
  std::vector<std::string> names = given;
  for (size_t i = names.size(); i < count; ++i) names.push_back(fmt::format("{}{}", letter, i));
  return names;
}

HeaderNames header_names(const planner::PlanData& plan, const SaveOptions& how, bool captured_are_parameters,
                         std::source_location loc) {
  const auto captured = static_cast<size_t>(plan.num_captured);
  const size_t arguments = plan.inputs.size() - captured;
  HeaderNames names{names_of(how.arguments, arguments, "arguments", 'x', loc),
                    names_of(how.results, plan.outputs.size(), "results", 'y', loc)};
  for (size_t i = 0; captured_are_parameters && i < captured; ++i) names.inputs.push_back(fmt::format("captured{}", i));
  std::unordered_set<std::string> seen{"arena"};
  for (const auto* list : {&names.inputs, &names.results}) {
    for (const std::string& name : *list) {
      if (is_free_identifier(name) && seen.insert(name).second) continue;
      throw_user<OptionError>("save", "the name \"" + name + "\"",
                              "identifiers that are no words of C or C++, and differ from each other and from arena",
                              "", loc);
    }
  }
  return names;
}

// The result of f, whose UserErrors get the line.
template <class F>
auto with_user_line(std::source_location loc, F&& f) {
  try {
    return f();
  } catch (const OptionError& e) {
    throw OptionError(with_line(e.what(), loc));
  } catch (const UserError& e) {
    throw UserError(with_line(e.what(), loc));
  }
}

// Bytes of results that are an argument, a captured array or another result: a caller has them, a plan does not.
size_t copied_bytes(const planner::PlanData& plan) {
  size_t bytes = 0;
  for (const int i : backends::copied_results(plan))
    bytes += round_up_64(plan.output_avals[static_cast<size_t>(i)].bytes());
  return bytes;
}

// A plan whose peak fits the budget with these.
std::shared_ptr<const planner::PlanData> plan_with_copies(const tracing::Graph& graph, planner::PlanOptions options,
                                                          std::source_location loc) {
  const std::optional<size_t> budget = options.memory_budget;
  auto plan = std::make_shared<const planner::PlanData>(planner::make_plan(graph, options));
  if (!budget || plan->peak_bytes + copied_bytes(*plan) <= *budget) return plan;
  const size_t copied = copied_bytes(*plan);
  options.memory_budget = *budget - std::min(*budget, copied);
  try {
    plan = std::make_shared<const planner::PlanData>(planner::make_plan(graph, options));
    if (plan->peak_bytes + copied_bytes(*plan) <= *budget) return plan;
  } catch (const BudgetError&) {}
  throw BudgetError(user_message("save", fmt::format("a budget of {}", format_bytes(*budget)),
                                 fmt::format("more: {} of the results are copies of arguments or of each other",
                                             format_bytes(copied)),
                                 "", loc),
                    plan->peak_bytes + copied);
}

}  // namespace

Saved save(const tracing::TracedFunction& function, planner::PlanOptions options, const Device& device,
           const std::filesystem::path& stem, const SaveOptions& how, std::source_location loc) {
  const std::string name = stem.filename().string();
  if (!is_free_identifier(name) || is_taken_function(name)) {
    throw_user<UserError>("save", "the file name \"" + name + "\"",
                          "an identifier for the function, which is no word or header of C or C++", "", loc);
  }
  if (options.naive || options.strategy == planner::Strategy::naive) {
    throw_user<UserError>("save", "the naive pipeline", "Pipeline::planned: a saved function allocates nothing", "",
                          loc);
  }
  if (tracing::has_collectives(function.graph)) {
    throw_user<UserError>("save", "a function with collectives between ranks", "one of one process",
                          "save what runs between them", loc);
  }
  if (tracing::calls_host(function.graph)) {
    throw_user<UserError>("save", "a function that calls functions of the program that it is saved from",
                          "one without prints, callbacks and checks", "leave them out of what is saved", loc);
  }
  options.target.carves = false;  // results lie where the caller says
  options.naive_too = false;
  options.want_alternatives = false;
  const auto plan = plan_with_copies(function.graph, options, loc);
  backends::ObjectRequest request{name, {}, how.target, how.cpu};
  for (const Array& a : function.captured) request.constants.push_back(tracing::concrete_buffer(a, "save", loc));
  const HeaderNames names = header_names(*plan, how, request.constants.empty(), loc);
  backends::Object object = with_user_line(loc, [&] { return object_for(device, *plan, request); });
  const tracing::Graph& graph = function.graph;
  for (backends::Parameter& p : object.parameters) {  // the plan has taken complex numbers apart
    const auto number = static_cast<size_t>(p.number);
    if (p.kind == backends::Parameter::Kind::argument) p.aval = graph.aval(graph.inputs[number]);
    if (p.kind == backends::Parameter::Kind::result) p.aval = graph.aval(graph.outputs[number]);
    const size_t arguments = graph.inputs.size() - static_cast<size_t>(graph.num_captured);
    if (p.kind == backends::Parameter::Kind::captured) p.aval = graph.aval(graph.inputs[arguments + number]);
  }
  size_t peak = plan->peak_bytes;
  for (const backends::Parameter& p : object.parameters) peak += p.copied ? round_up_64(p.aval.bytes()) : 0;
  Saved saved{stem, stem, object.arena_bytes, peak, object.needs_runtime, Plan(plan)};
  saved.object += ".o";
  saved.header += ".h";
  try {
    AtomicFile code(saved.object), header(saved.header);
    const std::string text = saved_header(name, object, peak, names);
    code.write(object.code.data(), object.code.size());
    header.write(text.data(), text.size());
    code.finish();
    header.finish();
    code.commit();
    header.commit();
  } catch (const std::system_error& e) {
    throw_user<UserError>("save", e.what(), "", "", loc);
  }
  return saved;
}

}  // namespace neap::jit_detail
