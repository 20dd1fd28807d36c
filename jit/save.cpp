#include "jit/save.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <unordered_set>

#include "core/ascii.h"
#include "core/at_line.h"
#include "core/file.h"
#include "jit/compile.h"
#include "planner/search/make_plan.h"

namespace neap::jit_detail {
namespace {

bool is_identifier(const std::string& name) {
  const auto good = [](char c) { return ascii::is_alnum(c) || c == '_'; };
  return !name.empty() && !ascii::is_digit(name[0]) && std::ranges::all_of(name, good);
}

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
      if (is_identifier(name) && seen.insert(name).second) continue;
      throw_user<OptionError>("save", "the name \"" + name + "\"", "identifiers of C that differ, and from arena", "",
                              loc);
    }
  }
  return names;
}

}  // namespace

Saved save(const tracing::TracedFunction& function, planner::PlanOptions options, const Device& device,
           const std::filesystem::path& stem, const SaveOptions& how, std::source_location loc) {
  const std::string name = stem.filename().string();
  if (!is_identifier(name)) {
    throw_user<UserError>("save", "the file name \"" + name + "\"", "an identifier of C, which the function gets", "",
                          loc);
  }
  if (options.naive) {
    throw_user<UserError>("save", "the naive pipeline", "Pipeline::planned: a saved function allocates nothing", "",
                          loc);
  }
  options.target.carves = false;  // results lie where the caller says
  options.want_alternatives = false;
  const auto plan = std::make_shared<const planner::PlanData>(planner::make_plan(function.graph, options));
  backends::ObjectRequest request{name, {}, how.target, how.cpu};
  for (const Array& a : function.captured) request.constants.push_back(tracing::concrete_buffer(a, "save", loc));
  const HeaderNames names = header_names(*plan, how, request.constants.empty(), loc);
  backends::Object object;
  try {
    object = object_for(device, *plan, request);
  } catch (const UserError& e) {
    throw UserError(with_line(e.what(), loc));
  }
  const tracing::Graph& graph = function.graph;
  for (backends::Parameter& p : object.parameters) {  // the plan has taken complex numbers apart
    const auto number = static_cast<size_t>(p.number);
    if (p.kind == backends::Parameter::Kind::argument) p.aval = graph.aval(graph.inputs[number]);
    if (p.kind == backends::Parameter::Kind::result) p.aval = graph.aval(graph.outputs[number]);
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
    code.commit();
    header.commit();
  } catch (const std::system_error& e) {
    throw_user<UserError>("save", e.what(), "a folder that can be written to", "", loc);
  }
  return saved;
}

}  // namespace neap::jit_detail
