// This reads what json.cpp writes. Everything is checked, so that code which uses the plan need not check it.
#include <fmt/format.h>
#include <neap/error.h>

#include <limits>

#include "planner/plan/parse_json.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"

namespace neap::planner {

namespace {

constexpr int kVersion = 1;
constexpr int kDeepest = 64;  // plans of loops within one another; deeper ones are refused, so that the stack suffices

// A value and where it stands: "steps[3].writes".
class At {
 public:
  At(const Json& value, std::string path, const std::string& name)
      : value_(value), path_(std::move(path)), name_(name) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}: {}: {}", name_, path_.empty() ? "plan" : path_, what));
  }

  At operator[](const char* key) const {
    if (!value_.is_object()) fail("expected an object");
    const Json* found = value_.find(key);
    if (!found) fail(fmt::format("no '{}'", key));
    return {*found, path_.empty() ? key : path_ + "." + key, name_};
  }
  bool has(const char* key) const { return value_.find(key) != nullptr; }
  bool is_null() const { return value_.is_null(); }

  std::string text() const {
    if (!value_.is_string()) fail("expected a text");
    return value_.get<std::string>();
  }
  std::string text_or_null() const { return is_null() ? "" : text(); }
  bool boolean() const {
    if (!value_.is_boolean()) fail("expected true or false");
    return value_.get<bool>();
  }
  double real() const {  // null stands for what JSON cannot write
    if (!value_.is_null() && !value_.is_number()) fail("expected a number");
    return value_.is_null() ? std::numeric_limits<double>::quiet_NaN() : value_.get<double>();
  }
  int64_t integer(int64_t least, int64_t most = std::numeric_limits<int64_t>::max()) const {
    const bool fits =
        value_.is_number_unsigned() ? value_.get<uint64_t>() <= uint64_t(most) : value_.is_number_integer();
    if (!fits || value_.get<int64_t>() < least || value_.get<int64_t>() > most) {
      fail(fmt::format("expected a whole number from {} to {}, got {}", least, most, value_.shown().substr(0, 40)));
    }
    return value_.get<int64_t>();
  }
  size_t bytes() const { return static_cast<size_t>(integer(0)); }
  int step() const {
    return static_cast<int>(integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }
  int index(size_t count) const {
    if (count == 0) fail("there are no buffers");
    return static_cast<int>(integer(0, static_cast<int64_t>(count) - 1));
  }

  void each(const auto& visit) const {
    if (!value_.is_array()) fail("expected a list");
    for (size_t i = 0; i < value_.size(); ++i) visit(At{value_[i], fmt::format("{}[{}]", path_, i), name_});
  }
  std::vector<int> indices(size_t count) const {
    std::vector<int> list;
    each([&](const At& item) { list.push_back(item.index(count)); });
    return list;
  }

 private:
  const Json& value_;
  std::string path_;
  const std::string& name_;
};

Storage storage_named(const At& at) {
  const std::string text = at.text();
  for (const Storage storage :
       {Storage::argument, Storage::captured, Storage::output, Storage::intermediate, Storage::scratch}) {
    if (name(storage) == text) return storage;
  }
  at.fail(fmt::format("unknown storage '{}'", text));
}

Strategy strategy_named(const At& at) {
  const std::string text = at.text();
  if (const std::optional<Strategy> strategy = find_strategy(text)) return *strategy;
  at.fail(fmt::format("unknown strategy '{}'", text));
}

PlanBuffer read_buffer(const At& at, size_t number, size_t count) {
  PlanBuffer buffer;
  if (at["id"].bytes() != number) at["id"].fail(fmt::format("expected {}", number));
  buffer.label = at["label"].text();
  buffer.storage = storage_named(at["storage"]);
  at["shape"].each([&](const At& extent) { buffer.aval.shape.push_back(extent.integer(0)); });
  const std::optional<DType> dtype = parse_dtype(at["dtype"].text());
  if (!dtype) at["dtype"].fail("unknown dtype");
  buffer.aval.dtype = *dtype;
  buffer.bytes = at["bytes"].bytes();
  buffer.offset = at["offset"].is_null() ? -1 : at["offset"].integer(0);
  buffer.first = at["first"].step();
  buffer.last = at["last"].step();
  buffer.alias_of = at["alias_of"].is_null() ? -1 : at["alias_of"].index(count);
  buffer.alias_offset = at["alias_offset"].integer(0);
  buffer.origin = at["source"].text_or_null();
  return buffer;
}

PlanData read_plan(const At& at, int depth);

PlanStep read_step(const At& at, const std::vector<PlanBuffer>& buffers, int depth) {
  PlanStep step;
  step.op = at["op"].text();
  step.strategy = strategy_named(at["strategy"]);
  step.reason = at["reason"].text();
  step.bytes_added = at["bytes_added"].bytes();
  step.bytes_live = at["bytes_live"].bytes();
  step.origin = at["source"].text_or_null();
  step.reads = at["reads"].indices(buffers.size());
  step.writes = at["writes"].indices(buffers.size());
  step.scratch = at["scratch"].indices(buffers.size());
  step.partials = static_cast<int>(at["parts"].integer(0, std::numeric_limits<int>::max()));
  if (at.has("host")) {
    const At host = at["host"];
    step.host = {host["sent"].bytes(), host["returned"].bytes(), host["held"].bytes()};
  }
  if (at.has("body")) step.body = std::make_shared<const PlanData>(read_plan(at["body"], depth + 1));
  for (const int b : step.writes) step.group.outputs.push_back(step.group.add_input(buffers[b].aval));
  return step;
}

Decision read_decision(const At& at) {
  Decision decision{at["what"].text(), at["chosen"].text(), at["reason"].text(), {}};
  at["alternatives"].each([&](const At& other) {
    decision.alternatives.push_back({other["name"].text(), other["peak_bytes"].bytes(), other["cost"].real()});
  });
  return decision;
}

PlanData read_plan(const At& at, int depth) {
  if (depth > kDeepest) at.fail("loops too deep");
  if (at["version"].integer(0) != kVersion) at["version"].fail(fmt::format("this reads version {}", kVersion));
  PlanData plan;
  plan.name = at["name"].text();
  const std::string pipeline = at["pipeline"].text();
  if (pipeline != "naive" && pipeline != "planned") at["pipeline"].fail("expected 'naive' or 'planned'");
  plan.naive = pipeline == "naive";
  plan.peak_bytes = at["peak_bytes"].bytes();
  plan.lower_bound_bytes = at["lower_bound_bytes"].bytes();
  plan.naive_peak_bytes = at["naive_peak_bytes"].is_null() ? 0 : at["naive_peak_bytes"].bytes();
  plan.arena_bytes = at["arena_bytes"].bytes();
  if (at.has("arena_blocks")) {
    at["arena_blocks"].each([&](const At& item) { plan.arena_blocks.push_back(item.bytes()); });
  }
  plan.slab = at["outputs_in_arena"].boolean();
  if (!at["budget_bytes"].is_null()) plan.budget = at["budget_bytes"].bytes();
  plan.budget_of_machine = at.has("budget_of_machine") && at["budget_of_machine"].boolean();
  plan.predicted_seconds = at["predicted_seconds"].real();
  at["strategies"].each([&](const At& item) { plan.strategies.push_back(item.text()); });
  size_t count = 0;
  at["buffers"].each([&](const At&) { ++count; });
  at["buffers"].each([&](const At& item) { plan.buffers.push_back(read_buffer(item, plan.buffers.size(), count)); });
  plan.inputs = at["inputs"].indices(count);
  plan.outputs = at["outputs"].indices(count);
  for (const int b : plan.outputs) plan.output_avals.push_back(plan.buffers[b].aval);
  at["steps"].each([&](const At& item) { plan.steps.push_back(read_step(item, plan.buffers, depth)); });
  at["decisions"].each([&](const At& item) { plan.decisions.push_back(read_decision(item)); });
  if (at.has("tradeoff")) {
    at["tradeoff"].each([&](const At& point) {
      plan.tradeoff.push_back({point["peak_bytes"].bytes(), point["predicted_seconds"].real(), point["how"].text()});
    });
  }
  if (at.has("naive")) plan.naive_plan = std::make_shared<const PlanData>(read_plan(at["naive"], depth + 1));
  return plan;
}

}  // namespace

PlanData parse_plan(std::string_view text, const std::string& name) {
  const Json whole = parse_json(text, name);
  return read_plan(At{whole, "", name}, 0);
}

}  // namespace neap::planner
