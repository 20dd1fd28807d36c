// The plan as one self-contained page: the plans as data, drawn by planner/report_page.inc.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "planner/place.h"
#include "planner/plan.h"
#include "planner/report.h"

namespace neap::planner {

namespace {

using nlohmann::json;

constexpr std::string_view kPage =
#include "planner/report_page.inc"
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

json to_drawing(const PlanData& plan) {
  const std::vector<int64_t> offsets = drawn_offsets(plan);
  std::vector<std::vector<size_t>> sharers(plan.buffers.size());  // what lies in the bytes of each
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].alias_of >= 0) sharers[plan.buffers[b].alias_of].push_back(b);
  }
  const int end = std::max(1, static_cast<int>(plan.steps.size()));
  json buffers = json::array();
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    if (buffer.alias_of >= 0 || buffer.bytes == 0) continue;
    const bool throughout = is_input(buffer) || (!plan.naive && buffer.offset < 0);
    json names = json::array({buffer.label});
    for (const size_t other : sharers[b]) names.push_back(plan.buffers[other].label);
    buffers.push_back({{"n", std::move(names)},
                       {"k", static_cast<int>(buffer.storage)},
                       {"t", to_string(buffer.aval)},
                       {"b", buffer.bytes},
                       {"o", offsets[b]},
                       {"f", throughout ? 0 : buffer.first},
                       {"l", throughout ? end - 1 : std::min(buffer.last, end - 1)},
                       {"s", where(buffer)}});
  }
  json steps = json::array();
  for (const PlanStep& step : plan.steps) {
    steps.push_back({step.op, step.strategy, step.reason, step.bytes_added, step.bytes_live, where(step)});
  }
  return {{"title", plan.naive ? "naive" : "planned"},
          {"peak", plan.peak_bytes},
          {"bound", plan.lower_bound_bytes},
          {"widest", widest_step(plan)},
          {"buffers", std::move(buffers)},
          {"steps", std::move(steps)}};
}

}  // namespace

std::string to_html(const PlanData& plan) {
  json data = {{"name", plan.name.empty() ? "a function" : plan.name}, {"plans", json::array({to_drawing(plan)})}};
  if (plan.naive_plan) data["plans"].push_back(to_drawing(*plan.naive_plan));
  data["budget"] = plan.budget ? json(*plan.budget) : json(nullptr);
  data["tradeoff"] = json::array();
  for (const Tradeoff& point : plan.tradeoff) {
    data["tradeoff"].push_back({point.peak_bytes, point.predicted_seconds, point.how});
  }
  data["decisions"] = json::array();
  for (const Decision& decision : plan.decisions) {
    json others = json::array();
    for (const Alternative& other : decision.alternatives) others.push_back({other.name, other.peak_bytes, other.cost});
    data["decisions"].push_back({decision.what, decision.chosen, decision.reason, std::move(others)});
  }
  return fill_page(kPage, data.dump(-1, ' ', false, json::error_handler_t::replace));
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
