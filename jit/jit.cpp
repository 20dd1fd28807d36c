#include <neap/aot.h>
#include <neap/jit.h>

#include <algorithm>
#include <cstdlib>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#include "core/at_line.h"
#include "jit/compile.h"
#include "jit/save.h"
#include "planner/plan/limits.h"
#include "planner/search/make_plan.h"

namespace neap {

namespace detail {

bool tracing_now(std::source_location loc) {
  tracing::check_stack("jit", tracing::user_line(loc));
  return tracing::is_tracing();
}

struct CompiledCall {
  std::unique_ptr<jit_detail::Compiled> compiled;
  Prototype prototype;
};

namespace {

std::string signature(const FlatCall& call, std::source_location loc) {
  std::string key = call.statics;
  for (const Array& a : call.leaves) {
    const Aval& aval = tracing::aval_of(a, loc);
    key.push_back(static_cast<char>(aval.dtype));
    const uint32_t rank = static_cast<uint32_t>(aval.shape.size());
    key.append(reinterpret_cast<const char*>(&rank), sizeof rank);
    key.append(reinterpret_cast<const char*>(aval.shape.data()), rank * sizeof(int64_t));
  }
  return key;
}

}  // namespace

struct JitState::Impl {
  JitOptions options;
  mutable std::shared_mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<CompiledCall>> cache;
  std::shared_ptr<CompiledCall> last;
  std::vector<std::shared_ptr<CompiledCall>> lost;  // with their device; callers may still look at their prototypes

  std::string limited() const {
    return "the limits of " + (options.limits->name.empty() ? "another device" : options.limits->name);
  }

  static planner::Overlap overlap(std::source_location loc) {
    const char* text = std::getenv("NEAP_OVERLAP");
    const std::string_view value = text ? text : "";
    if (value.empty()) return planner::Overlap::where_faster;
    if (value == "none") return planner::Overlap::none;
    if (value == "all") return planner::Overlap::all;
    throw_user<OptionError>("NEAP_OVERLAP", '"' + std::string(value) + '"', "none or all", "", loc);
  }

  planner::PlanOptions plan_options(const FlatCall& call, std::source_location loc) const {
    planner::PlanOptions p;
    p.name = options.name;
    p.naive = options.pipeline == Pipeline::naive;
    p.memory_budget = options.memory_budget;
    if (options.strategy) p.strategy = planner::pinned_strategy(*options.strategy);
    p.chunks = options.chunks;
    p.target = options.limits ? planner::target_of(*options.limits) : jit_detail::target_of(options.device);
    if (options.limits && options.limits->memory > 0)
      p.memory_budget = std::min(p.memory_budget.value_or(SIZE_MAX), options.limits->memory);
    p.target.deterministic = options.deterministic;
    p.overlap = overlap(loc);
    for (const int argument : options.donate)
      if (argument < 0 || argument >= call.arguments)
        throw_user<OptionError>("jit", "donate names argument " + std::to_string(argument),
                                "one of the " + std::to_string(call.arguments) + ", counted from 0", "", loc);
    for (size_t i = 0; i < call.leaves.size(); ++i)
      p.donated.push_back(std::ranges::find(options.donate, call.argument[i]) != options.donate.end());
    return p;
  }

  static tracing::TracedFunction trace_call(const FlatCall& call, const FlatFunction& f, const std::string& name,
                                            Prototype& prototype, std::source_location loc) {
    const tracing::AtLine line(loc);
    return tracing::trace(
        tracing::avals_of(call.leaves, loc), [&](const tracing::Arrays& in) { return f(in, prototype); }, name);
  }

  /// Returns the function's graph for this call, and the options to plan it with.
  std::pair<tracing::TracedFunction, planner::PlanOptions> prepare(const FlatCall& call, const FlatFunction& f,
                                                                   Prototype& prototype,
                                                                   std::source_location loc) const {
    tracing::TracedFunction traced = trace_call(call, f, options.name, prototype, loc);
    planner::PlanOptions p = plan_options(call, loc);
    p.donated.resize(traced.graph.inputs.size(), false);  // captured arrays are never donated
    return {std::move(traced), std::move(p)};
  }

  std::shared_ptr<CompiledCall> compile(const FlatCall& call, const FlatFunction& f, std::source_location loc) {
    if (options.limits)
      throw_user<UserError>("jit", "a call of what is planned for " + limited(), "plan(...) or tradeoff(...)",
                            "leave the option `limits` out to run on a device", loc);
    std::string key = signature(call, loc);
    {
      const std::shared_lock lock(mutex);
      if (const auto it = cache.find(key); it != cache.end() && it->second->compiled->usable()) return it->second;
    }
    auto entry = std::make_shared<CompiledCall>();
    auto [traced, p] = prepare(call, f, entry->prototype, loc);
    p.machine_memory = jit_detail::room_on(options.device, call.leaves, traced.captured);
    entry->compiled = std::make_unique<jit_detail::Compiled>(std::move(traced), std::move(p), options.device,
                                                             jit_detail::Origin{to_string(loc), false});
    const std::unique_lock lock(mutex);
    std::shared_ptr<CompiledCall>& kept = cache[std::move(key)];
    if (kept && kept->compiled->usable()) return kept;
    if (kept) lost.push_back(std::move(kept));
    return kept = std::move(entry);
  }
};

JitState::JitState(JitOptions options) : impl_(std::make_unique<Impl>()) { impl_->options = std::move(options); }
JitState::~JitState() = default;

std::vector<Array> JitState::call(FlatCall& call, const FlatFunction& f, const void*& prototype,
                                  std::source_location loc) {
  return at_line(loc, [&] {
    const std::shared_ptr<CompiledCall> entry = impl_->compile(call, f, loc);
    prototype = entry->prototype.get();  // lives in the cache
    std::vector<Array> outputs = entry->compiled->run(call.leaves, loc);
    const std::unique_lock lock(impl_->mutex);
    impl_->last = entry;
    return outputs;
  });
}

Plan JitState::plan(const FlatCall& call, const FlatFunction& f, std::source_location loc) {
  return at_line(loc, [&] {
    Prototype prototype;
    auto [traced, p] = impl_->prepare(call, f, prototype, loc);
    return jit_detail::make_report(traced.graph, std::move(p));
  });
}

std::vector<Tradeoff> JitState::tradeoff(const FlatCall& call, const FlatFunction& f, std::source_location loc) {
  return at_line(loc, [&] {
    Prototype prototype;
    auto [traced, p] = impl_->prepare(call, f, prototype, loc);
    return planner::tradeoff(traced.graph, p);
  });
}

Plan JitState::last_plan(std::source_location loc) const {
  std::shared_ptr<CompiledCall> last;
  {
    const std::shared_lock lock(impl_->mutex);
    last = impl_->last;
  }
  if (!last)
    throw_user<UserError>("last_plan", "the function has not been called", "", "call it, or use plan(...)", loc);
  return at_line(loc, [&] { return last->compiled->report(); });
}

Saved JitState::save(const FlatCall& call, const FlatFunction& f, const std::filesystem::path& stem,
                     const SaveOptions& options, std::source_location loc) {
  return at_line(loc, [&] {
    if (impl_->options.limits)
      throw_user<UserError>("save", "a function that is planned for " + impl_->limited(),
                            "one that is planned for the CPU", "leave the option `limits` out", loc);
    Prototype prototype;
    auto [traced, p] = impl_->prepare(call, f, prototype, loc);
    return jit_detail::save(traced, std::move(p), impl_->options.device, stem, options, loc);
  });
}

void JitState::compile(const FlatCall& call, const FlatFunction& f, std::source_location loc) {
  at_line(loc, [&] { impl_->compile(call, f, loc); });
}

}  // namespace detail
}  // namespace neap
