#include "planner/report/index.h"

#include <algorithm>

#include "core/buffer.h"
#include "core/json.h"
#include "planner/report/page.h"

namespace neap::planner {

namespace {

constexpr int kVersion = 1;
constexpr std::string_view kPage =
#include "planner/report/index_page.inc"
    ;

void write_file(JsonWriter& out, const IndexedPlan& plan, const char* kind) {
  out.key(kind);
  plan.stem.empty() ? out.null() : out.value(plan.stem + ".plan." + kind);
}

void write_plan(JsonWriter& out, const IndexedPlan& plan) {
  out.begin_object().key("alive").begin_array();
  for (const AliveResults& results : plan.alive) {
    out.begin_object().member("arrays", results.arrays).member("bytes", results.bytes).member("plan", results.plan);
    out.member("what", results.what).end_object();
  }
  out.end_array().member("calls", plan.calls).member("device", plan.device).member("eager", plan.eager);
  write_file(out, plan, "html");
  out.member("input_bytes", plan.input_bytes);
  write_file(out, plan, "json");
  out.member("lower_bound_bytes", plan.lower_bound_bytes).key("naive_peak_bytes");
  plan.naive_peak_bytes == 0 ? out.null() : out.value(plan.naive_peak_bytes);
  out.member("name", plan.name).member("others_bytes", plan.others_bytes).member("output_bytes", plan.output_bytes);
  out.member("peak_bytes", plan.peak_bytes).member("pipeline", plan.naive ? "naive" : "planned").end_object();
}

std::string written(const ProgramIndex& index, int indent) {
  JsonWriter out(indent);
  out.begin_object().key("calls").begin_array();
  for (const IndexedCall& call : index.calls) {
    const size_t peak = call.others + index.plans[static_cast<size_t>(call.plan)].peak_bytes;
    out.begin_object().member("after_bytes", call.after).member("before_bytes", call.before);
    out.member("others_bytes", call.others).member("peak_bytes", peak).member("plan", call.plan).end_object();
  }
  out.end_array().member("calls_left_out", index.calls_left_out).member("peak_bytes", program_peak(index));
  out.key("plans").begin_array();
  for (const IndexedPlan& plan : index.plans) write_plan(out, plan);
  out.end_array().member("version", kVersion).end_object();
  return out.take();
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

std::string to_json(const ProgramIndex& index) { return written(index, 1) + "\n"; }

std::string to_html(const ProgramIndex& index) { return fill_page(kPage, written(index, -1)); }

}  // namespace neap::planner
