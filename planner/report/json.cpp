// A plan becomes JSON, described in docs/plan-json.md, with members sorted by name.
#include "core/json.h"
#include "planner/plan/plan.h"
#include "planner/plan/queries.h"
#include "planner/report/report.h"

namespace neap::planner {

namespace {

constexpr int kVersion = 1;

void write_source(JsonWriter& out, const auto& item) {
  const std::string text = where(item);
  out.key("source");
  text.empty() ? out.null() : out.value(text);
}

// Nothing where it is negative.
void write_natural(JsonWriter& out, std::string_view name, int64_t number) {
  out.key(name);
  number < 0 ? out.null() : out.value(number);
}

void write_buffer(JsonWriter& out, const PlanBuffer& buffer, size_t id) {
  out.begin_object();
  write_natural(out, "alias_of", buffer.alias_of);
  out.member("alias_offset", buffer.alias_offset).member("bytes", buffer.bytes);
  out.member("dtype", name(buffer.aval.dtype)).member("first", buffer.first).member("id", id);
  out.member("label", buffer.label).member("last", buffer.last);
  write_natural(out, "offset", buffer.offset);
  out.member("shape", buffer.aval.shape);
  write_source(out, buffer);
  out.member("storage", name(buffer.storage)).end_object();
}

void write_plan(JsonWriter& out, const PlanData& plan);

void write_step(JsonWriter& out, const PlanStep& step, const PlanData& plan) {
  out.begin_object();
  if (step.body) write_plan(out.key("body"), *step.body);
  out.member("bytes_added", step.bytes_added).member("bytes_live", step.bytes_live);
  if (step.host) {
    out.key("host").begin_object();
    out.member("held", step.host->held).member("returned", step.host->returned).member("sent", step.host->sent);
    out.end_object();
  }
  write_natural(out, "offset", step.writes.empty() ? -1 : plan.buffers[step.writes[0]].offset);
  out.member("op", step.op).member("parts", step.partials).member("reads", step.reads).member("reason", step.reason);
  out.member("scratch", step.scratch);
  write_source(out, step);
  out.member("strategy", name(step.strategy)).member("writes", step.writes).end_object();
}

void write_decision(JsonWriter& out, const Decision& decision) {
  out.begin_object().key("alternatives").begin_array();
  for (const Alternative& other : decision.alternatives) {
    out.begin_object().member("cost", other.cost).member("name", other.name);
    out.member("peak_bytes", other.peak_bytes).end_object();
  }
  out.end_array().member("chosen", decision.chosen).member("reason", decision.reason);
  out.member("what", decision.what).end_object();
}

void write_plan(JsonWriter& out, const PlanData& plan) {
  out.begin_object().member("arena_blocks", plan.arena_blocks).member("arena_bytes", plan.arena_bytes);
  out.key("budget_bytes");
  plan.budget ? out.value(*plan.budget) : out.null();
  if (plan.budget_of_machine) out.key("budget_of_machine").value(true);
  out.key("buffers").begin_array();
  for (size_t b = 0; b < plan.buffers.size(); ++b) write_buffer(out, plan.buffers[b], b);
  out.end_array().key("decisions").begin_array();
  for (const Decision& decision : plan.decisions) write_decision(out, decision);
  out.end_array().member("host_bytes", host_bytes(plan)).member("inputs", plan.inputs);
  out.member("lower_bound_bytes", plan.lower_bound_bytes);
  if (plan.naive_plan) write_plan(out.key("naive"), *plan.naive_plan);
  out.key("naive_peak_bytes");
  plan.naive_peak_bytes == 0 ? out.null() : out.value(plan.naive_peak_bytes);
  out.member("name", plan.name)
      .member("outputs", plan.outputs)
      .member("outputs_in_arena", plan.slab)
      .member("peak_bytes", plan.peak_bytes);
  out.member("pipeline", plan.naive ? "naive" : "planned").member("predicted_seconds", plan.predicted_seconds);
  out.key("steps").begin_array();
  for (const PlanStep& step : plan.steps) write_step(out, step, plan);
  out.end_array().member("strategies", plan.strategies);
  if (!plan.tradeoff.empty()) {
    out.key("tradeoff").begin_array();
    for (const Tradeoff& point : plan.tradeoff) {
      out.begin_object().member("how", point.how).member("peak_bytes", point.peak_bytes);
      out.member("predicted_seconds", point.predicted_seconds).end_object();
    }
    out.end_array();
  }
  out.member("version", kVersion).end_object();
}

}  // namespace

std::string to_json(const PlanData& plan) {
  JsonWriter out(2);
  write_plan(out, plan);
  return out.take() + "\n";
}

}  // namespace neap::planner
