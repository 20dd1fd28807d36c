// The plan as JSON, described in docs/plan-json.md.
#include <nlohmann/json.hpp>

#include "planner/plan.h"
#include "planner/report.h"

namespace neap::planner {

namespace {

using nlohmann::json;

constexpr int kVersion = 1;

json source_of(const auto& item) {
  const std::string text = where(item);
  return text.empty() ? json(nullptr) : json(text);
}

json buffers(const PlanData& plan) {
  json list = json::array();
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    list.push_back({{"id", b},
                    {"label", buffer.label},
                    {"storage", name(buffer.storage)},
                    {"shape", buffer.aval.shape},
                    {"dtype", name(buffer.aval.dtype)},
                    {"bytes", buffer.bytes},
                    {"offset", buffer.offset < 0 ? json(nullptr) : json(buffer.offset)},
                    {"first", buffer.first},
                    {"last", buffer.last},
                    {"alias_of", buffer.alias_of < 0 ? json(nullptr) : json(buffer.alias_of)},
                    {"alias_offset", buffer.alias_offset},
                    {"source", source_of(buffer)}});
  }
  return list;
}

json to_object(const PlanData& plan);

json steps(const PlanData& plan) {
  json list = json::array();
  for (const PlanStep& step : plan.steps) {
    const int64_t offset = step.writes.empty() ? -1 : plan.buffers[step.writes[0]].offset;
    json item = {{"op", step.op},
                 {"strategy", step.strategy},
                 {"reason", step.reason},
                 {"bytes_added", step.bytes_added},
                 {"bytes_live", step.bytes_live},
                 {"offset", offset < 0 ? json(nullptr) : json(offset)},
                 {"source", source_of(step)},
                 {"reads", step.reads},
                 {"writes", step.writes},
                 {"scratch", step.scratch},
                 {"parts", step.parts}};
    if (step.host) {
      item["host"] = {{"sent", step.host->sent}, {"returned", step.host->returned}, {"held", step.host->held}};
    }
    if (step.body) item["body"] = to_object(*step.body);
    list.push_back(std::move(item));
  }
  return list;
}

json decisions(const PlanData& plan) {
  json list = json::array();
  for (const Decision& decision : plan.decisions) {
    json others = json::array();
    for (const Alternative& other : decision.alternatives) {
      others.push_back({{"name", other.name}, {"peak_bytes", other.peak_bytes}, {"cost", other.cost}});
    }
    list.push_back({{"what", decision.what},
                    {"chosen", decision.chosen},
                    {"reason", decision.reason},
                    {"alternatives", std::move(others)}});
  }
  return list;
}

json tradeoff(const PlanData& plan) {
  json list = json::array();
  for (const Tradeoff& point : plan.tradeoff) {
    list.push_back(
        {{"peak_bytes", point.peak_bytes}, {"predicted_seconds", point.predicted_seconds}, {"how", point.how}});
  }
  return list;
}

json to_object(const PlanData& plan) {
  json object = {{"version", kVersion},
                 {"name", plan.name},
                 {"pipeline", plan.naive ? "naive" : "planned"},
                 {"peak_bytes", plan.peak_bytes},
                 {"lower_bound_bytes", plan.lower_bound_bytes},
                 {"naive_peak_bytes", plan.naive_peak_bytes == 0 ? json(nullptr) : json(plan.naive_peak_bytes)},
                 {"host_bytes", host_bytes(plan)},
                 {"arena_bytes", plan.arena_bytes},
                 {"arena_blocks", plan.arena_blocks},
                 {"outputs_in_arena", plan.slab},
                 {"budget_bytes", plan.budget ? json(*plan.budget) : json(nullptr)},
                 {"predicted_seconds", plan.predicted_seconds},
                 {"strategies", plan.strategies},
                 {"inputs", plan.inputs},
                 {"outputs", plan.outputs},
                 {"steps", steps(plan)},
                 {"buffers", buffers(plan)},
                 {"decisions", decisions(plan)}};
  if (!plan.tradeoff.empty()) object["tradeoff"] = tradeoff(plan);
  if (plan.naive_plan) object["naive"] = to_object(*plan.naive_plan);
  return object;
}

}  // namespace

std::string to_json(const PlanData& plan) {
  return to_object(plan).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace neap::planner
