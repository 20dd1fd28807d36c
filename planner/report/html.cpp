// A plan becomes one self-contained page: the plans are data in it, which planner/report/page.inc draws.
#include <algorithm>

#include "core/json.h"
#include "planner/place/place.h"
#include "planner/plan/plan.h"
#include "planner/plan/queries.h"
#include "planner/report/page.h"
#include "planner/report/report.h"

namespace neap::planner {

namespace {

constexpr std::string_view kPage =
#include "planner/report/page.inc"
    ;

bool is_input(const PlanBuffer& buffer) {
  return buffer.storage == Storage::argument || buffer.storage == Storage::captured;
}

// Where to draw each buffer. What is held throughout lies at the bottom, the arena above; buffers of a naive plan have
// no addresses, so they are drawn as low as they fit.
std::vector<int64_t> drawn_offsets(const PlanData& plan) {
  std::vector<int64_t> offsets(plan.buffers.size(), -1);
  int64_t held = 0;
  std::vector<int> free;
  std::vector<Block> blocks;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    if (buffer.alias_of >= 0) continue;
    if (is_input(buffer) || (!plan.naive && buffer.offset < 0)) {
      offsets[b] = held;
      held += static_cast<int64_t>(buffer.bytes);
    } else if (plan.naive) {
      free.push_back(static_cast<int>(b));
      blocks.push_back({buffer.first, buffer.last, buffer.bytes});
    }
  }
  const Placement placement = place(blocks);
  for (size_t i = 0; i < free.size(); ++i) offsets[free[i]] = held + placement.offsets[i];
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (offsets[b] < 0 && plan.buffers[b].offset >= 0) offsets[b] = held + plan.buffers[b].offset;
  }
  return offsets;
}

void draw(JsonWriter& out, const PlanData& plan) {
  const std::vector<int64_t> offsets = drawn_offsets(plan);
  std::vector<std::vector<size_t>> sharers(plan.buffers.size());  // what lies in the bytes of each
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].alias_of >= 0) sharers[plan.buffers[b].alias_of].push_back(b);
  }
  const int end = std::max(1, static_cast<int>(plan.steps.size()));
  out.begin_object().member("bound", plan.lower_bound_bytes).key("buffers").begin_array();
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    if (buffer.alias_of >= 0 || buffer.bytes == 0) continue;
    const bool throughout = is_input(buffer) || (!plan.naive && buffer.offset < 0);
    out.begin_object().member("b", buffer.bytes).member("f", throughout ? 0 : buffer.first);
    out.member("k", static_cast<int>(buffer.storage))
        .member("l", throughout ? end - 1 : std::min(buffer.last, end - 1));
    out.key("n").begin_array().value(buffer.label);
    for (const size_t other : sharers[b]) out.value(plan.buffers[other].label);
    out.end_array().member("o", offsets[b]).member("s", where(buffer)).member("t", to_string(buffer.aval)).end_object();
  }
  out.end_array().member("peak", plan.peak_bytes).key("steps").begin_array();
  for (const PlanStep& step : plan.steps) {
    out.begin_array().value(step.op).value(name(step.strategy)).value(step.reason).value(step.bytes_added);
    out.value(step.bytes_live).value(where(step)).end_array();
  }
  out.end_array().member("title", plan.naive ? "naive" : "planned").member("peak_at", peak_step(plan)).end_object();
}

}  // namespace

std::string to_html(const PlanData& plan) {
  JsonWriter out;
  out.begin_object().key("budget");
  plan.budget ? out.value(*plan.budget) : out.null();
  out.key("decisions").begin_array();
  for (const Decision& decision : plan.decisions) {
    out.begin_array().value(decision.what).value(decision.chosen).value(decision.reason).begin_array();
    for (const Alternative& other : decision.alternatives) {
      out.begin_array().value(other.name).value(other.peak_bytes).value(other.cost).end_array();
    }
    out.end_array().end_array();
  }
  out.end_array().member("name", plan.name.empty() ? "a function" : plan.name).key("plans").begin_array();
  draw(out, plan);
  if (plan.naive_plan) draw(out, *plan.naive_plan);
  out.end_array().key("tradeoff").begin_array();
  for (const Tradeoff& point : plan.tradeoff) {
    out.begin_array().value(point.peak_bytes).value(point.predicted_seconds).value(point.how).end_array();
  }
  out.end_array().end_object();
  return fill_page(kPage, out.take());
}

std::string fill_page(std::string_view page, std::string_view json) {
  // Names are the user's: any bytes, and none of them may end the script or open a comment in it.
  std::string text;
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  std::string filled(page);
  const std::string_view mark = "/*DATA*/null";
  return filled.replace(filled.find(mark), mark.size(), text);
}

}  // namespace neap::planner
