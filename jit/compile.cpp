#include "jit/compile.h"

#include <fmt/format.h>

#include <optional>

#include "core/ascii.h"
#include "core/dump.h"
#include "core/progress.h"
#include "jit/compile_ahead.h"
#include "jit/dump_index.h"
#include "jit/non_finite.h"
#include "jit/profile.h"
#include "jit/profile_file.h"
#include "planner/search/make_plan.h"
#include "trace/graph/collective.h"
#include "trace/graph/effects.h"

namespace neap::jit_detail {
namespace {

// Writes what each pass of the planner left, and the passes that planned bodies of loops.
void dump_passes(const planner::PlanData& plan, const std::string& stem) {
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    dump_text(fmt::format("{}.{:02}-{}.txt", stem, i, plan.passes[i].name), plan.passes[i].text);
  }
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].body) dump_passes(*plan.steps[s].body, fmt::format("{}.step{}", stem, s));
  }
}

// Returns the text as part of a file's name, on any system: letters, digits, '-' and '_', of a length that all allow.
std::string in_a_file_name(std::string text) {
  constexpr size_t kLongest = 64;
  if (text.size() > kLongest) text.resize(kLongest);
  for (char& c : text)
    if (!ascii::is_alnum(c) && c != '-') c = '_';
  while (text.ends_with('_')) text.pop_back();  // of "add f32[3]"
  return text.empty() ? "graph" : text;
}

/// Writes graph and plan to NEAP_DUMP; returns the stem of the files' names, which is empty where nothing is dumped.
std::string dump(const tracing::Graph& graph, const planner::PlanOptions& options, const Device& device,
                 const std::string& label, bool eager, int& number) {
  if (!dump_dir()) return {};
  const std::string stem = fmt::format("{}{:04}-{}", eager ? "eager/" : "", next_dump_number(), in_a_file_name(label));
  dump_text(stem + ".graph.txt", tracing::print(graph));
  planner::PlanOptions keeping = options;
  keeping.keep_passes = true;
  keeping.name = label;
  const Plan plan = make_report(graph, keeping);
  dump_text(stem + ".plan.txt", plan.to_text());
  dump_text(stem + ".plan.json", plan.to_json());
  dump_text(stem + ".plan.html", plan.to_html());
  dump_passes(plan.data(), stem);
  planner::IndexedPlan entry = planner::indexed(plan.data(), stem, to_string(device));
  entry.eager = eager;
  number = add_to_index(std::move(entry));
  return stem;
}

// The collectives of a plan in its order, as text, and the loops around them.
struct Collectives {
  std::string text;
  size_t count = 0;

  void add(const planner::PlanData& plan) {
    for (const planner::PlanStep& step : plan.steps) {
      if (step.kind == planner::PlanStep::Kind::scan && step.body) {
        const tracing::Attrs& attrs = step.group.nodes.at(0).attrs;
        text += fmt::format("{} {} {{", step.op, attrs.integer_or(tracing::Attr::length, -1));
        add(*step.body);
        text += "}";
      }
      if (step.kind != planner::PlanStep::Kind::host || !tracing::has_collectives(step.group)) continue;
      if (step.phase == planner::PlanStep::Phase::end) continue;
      text += tracing::print(step.group);
      ++count;
    }
  }
};

}  // namespace

Plan make_report(const tracing::Graph& graph, planner::PlanOptions options) {
  options.want_alternatives = true;
  return Plan(std::make_shared<const planner::PlanData>(planner::make_plan(graph, options)));
}

Compiled::Compiled(tracing::TracedFunction function, planner::PlanOptions options, const Device& device, Origin origin)
    : function_(std::move(function)),
      options_(std::move(options)),
      device_(device),
      label_(options_.name.empty() ? std::move(origin.label) : options_.name),
      calls_host_(tracing::calls_host(function_.graph)) {
#ifndef NDEBUG
  tracing::verify(function_.graph);
#endif
  // All ranks have the same plan, by the memory of the one that has least.
  if (calls_host_ && tracing::has_collectives(function_.graph)) {
    const size_t least =
        tracing::least_of_ranks(function_.graph, options_.machine_memory.value_or(SIZE_MAX), tracing::user_line({}));
    if (least < SIZE_MAX) options_.machine_memory = least;
  }
  std::optional<Progress> all, compiling;
  if (progress_on()) all.emplace(label_, "", 0);
  options_.want_alternatives = false;
  const bool filed = profile_file_on();
  const double began = filed ? backends::steady_seconds() : 0;
  std::optional<CompileAhead> ahead(std::in_place, device);
  planner::PlanOptions asked = options_;
  asked.likely = [&](const planner::PlanData& likely) { ahead->begin(likely); };
  planner::PlanData plan = planner::make_plan(function_.graph, asked);
  ahead->stop();
  const double planned = filed ? backends::steady_seconds() : 0;
  if (progress_on()) compiling.emplace("compiling", "", 0, Progress::Clock::ticks);
  executable_ =
      compile_for(device, std::move(plan), dump(function_.graph, options_, device, label_, origin.eager, number_));
  ahead.reset();
  if (!filed) return;
  note_in_profile_file(label_, "planning", began, planned);
  note_in_profile_file(label_, "compiling", planned, backends::steady_seconds());
}

tracing::Arrays Compiled::run(const tracing::Arrays& arguments, std::source_location loc) const {
  using Kind = detail::ArrayImpl::Kind;
  const planner::PlanData& plan = executable_->plan();
  std::vector<BufferPtr> buffers;
  buffers.reserve(arguments.size() + function_.captured.size());
  for (const Array& a : arguments) buffers.push_back(tracing::concrete_buffer(a, "jit", loc));
  for (const Array& a : function_.captured) buffers.push_back(tracing::concrete_buffer(a, "jit", loc));
  const auto is_donated = [&](size_t i) { return i < plan.donated.size() && plan.donated[i]; };
  for (size_t i = 0; i < arguments.size(); ++i) {  // all checks first: a call that is refused takes nothing
    if (!is_donated(i)) continue;
    const detail::ArrayImpl& impl = *arguments[i].impl();
    if (impl.data->lent())
      throw_user<UserError>("jit", "the donated " + to_string(impl.aval) + " is lent memory, which is read alone",
                            "memory of its own", "make a copy of it first, or do not donate this argument", loc);
    if (impl.data.use_count() > 2) synchronize();  // a device may still be reading it
    if (impl.data.use_count() > 2)                 // the array's and ours
      throw_user<UserError>("jit", "the donated " + to_string(impl.aval) + " shares its memory with another array",
                            "memory of its own", "make a copy of it first, or do not donate this argument", loc);
  }
  if (calls_host_)
    std::call_once(compared_, [&] {
      Collectives all;
      all.add(plan);
      if (all.count > 0) tracing::check_same_program(function_.graph, all.text, all.count, label_, loc);
    });
  const BegunCall begun = number_ < 0 ? BegunCall() : begin_call(device_, buffers);
  std::optional<Progress> progress;
  if (progress_on()) progress.emplace(label_, "step", static_cast<int64_t>(plan.steps.size()));
  const bool recorded = profiling.load(std::memory_order_relaxed), filed = profile_file_on();
  std::vector<backends::StepTiming> timings;
  const auto donate = [&] {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!is_donated(i)) continue;
      detail::ArrayImpl& impl = *arguments[i].impl();
      impl.data.reset();
      impl.kind = Kind::donated;
      impl.source = loc;
    }
  };
  std::vector<BufferPtr> results;
  try {
    results = executable_->run(buffers, recorded || filed ? &timings : nullptr);
  } catch (...) {
    if (calls_host_) donate();  // steps before the one that threw may have written over them
    throw;
  }
  tracing::Arrays outputs;
  outputs.reserve(results.size());
  for (size_t i = 0; i < function_.graph.outputs.size(); ++i)  // one more comes after its effects
    outputs.push_back(detail::make_concrete(function_.graph.aval(function_.graph.outputs[i]), results[i]));
  if (recorded) record(plan, timings);
  if (filed) note_in_profile_file(label_, plan, timings);
  donate();  // after all that may lack memory and throw
  if (number_ >= 0) note_call(number_, device_, begun, results, plan);
  if (checks_results()) check_results(function_, arguments, outputs, loc);
  return outputs;
}

Plan Compiled::report() const {
  std::call_once(reported_, [&] { report_ = make_report(function_.graph, options_); });
  return report_;
}

}  // namespace neap::jit_detail
