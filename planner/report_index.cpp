#include "planner/report_index.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/buffer.h"
#include "planner/report.h"

namespace neap::planner {

namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::string_view kPage =
#include "planner/report_index_page.inc"
    ;

json file(const IndexedPlan& plan, const char* kind) {
  return plan.stem.empty() ? json(nullptr) : json(plan.stem + ".plan." + kind);
}

json to_object(const ProgramIndex& index) {
  json plans = json::array(), calls = json::array();
  for (const IndexedPlan& plan : index.plans) {
    json alive = json::array();
    for (const AliveResults& results : plan.alive) {
      alive.push_back(
          {{"plan", results.plan}, {"what", results.what}, {"bytes", results.bytes}, {"arrays", results.arrays}});
    }
    plans.push_back({{"name", plan.name},
                     {"json", file(plan, "json")},
                     {"html", file(plan, "html")},
                     {"device", plan.device},
                     {"pipeline", plan.naive ? "naive" : "planned"},
                     {"peak_bytes", plan.peak_bytes},
                     {"lower_bound_bytes", plan.lower_bound_bytes},
                     {"naive_peak_bytes", plan.naive_peak_bytes == 0 ? json(nullptr) : json(plan.naive_peak_bytes)},
                     {"input_bytes", plan.input_bytes},
                     {"output_bytes", plan.output_bytes},
                     {"calls", plan.calls},
                     {"others_bytes", plan.others_bytes},
                     {"alive", std::move(alive)}});
  }
  for (const IndexedCall& call : index.calls) {
    calls.push_back({{"plan", call.plan},
                     {"before_bytes", call.before},
                     {"others_bytes", call.others},
                     {"peak_bytes", call.others + index.plans[static_cast<size_t>(call.plan)].peak_bytes},
                     {"after_bytes", call.after}});
  }
  return {{"version", kVersion},
          {"peak_bytes", program_peak(index)},
          {"plans", std::move(plans)},
          {"calls", std::move(calls)},
          {"calls_left_out", index.calls_left_out}};
}

}  // namespace

IndexedPlan indexed(const PlanData& plan, std::string stem, std::string device) {
  IndexedPlan entry;
  entry.name = plan.name.empty() ? "a function" : plan.name;
  entry.stem = std::move(stem);
  entry.device = std::move(device);
  entry.naive = plan.naive;
  entry.peak_bytes = plan.peak_bytes;
  entry.lower_bound_bytes = plan.lower_bound_bytes;
  entry.naive_peak_bytes = plan.naive_peak_bytes;
  for (const PlanBuffer& buffer : plan.buffers) {
    const bool input = buffer.storage == Storage::argument || buffer.storage == Storage::captured;
    if (input && buffer.alias_of < 0) entry.input_bytes += buffer.bytes;
  }
  for (const Aval& aval : plan.output_avals) entry.output_bytes += round_up_64(aval.bytes());
  return entry;
}

size_t program_peak(const ProgramIndex& index) {
  size_t peak = 0;
  for (const IndexedPlan& plan : index.plans) {
    if (plan.calls > 0) peak = std::max(peak, plan.others_bytes + plan.peak_bytes);
  }
  return peak;
}

std::string to_json(const ProgramIndex& index) {
  return to_object(index).dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string to_html(const ProgramIndex& index) {
  return fill_page(kPage, to_object(index).dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace neap::planner
