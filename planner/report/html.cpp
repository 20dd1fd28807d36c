// A plan becomes one self-contained page: the plans are data in it, which the script in planner/report/page_script.inc
// draws.
#include <neap/error.h>

#include <algorithm>
#include <source_location>

#include "core/json.h"
#include "planner/place/place.h"
#include "planner/plan/plan.h"
#include "planner/plan/queries.h"
#include "planner/report/page.h"
#include "planner/report/report.h"
#include "planner/report/source_lines.h"

namespace neap::planner {

namespace {

constexpr std::string_view kPage =
#include "planner/report/page.inc"
#include "planner/report/page_script.inc"
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

void write_buffers(JsonWriter& out, const PlanData& plan, const std::vector<int64_t>& offsets) {
  const int end = std::max(1, static_cast<int>(plan.steps.size()));
  out.key("buffers").begin_array();
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    const bool throughout = is_input(buffer) || (!plan.naive && buffer.offset < 0);
    out.begin_object().member("a", buffer.alias_of).member("b", buffer.bytes);
    out.member("f", throughout ? 0 : std::clamp(buffer.first, 0, end)).member("k", static_cast<int>(buffer.storage));
    out.member("l", throughout ? end - 1 : std::min(buffer.last, end - 1)).member("n", buffer.label);
    out.member("o", offsets.empty() ? -1 : offsets[b]).member("s", where(buffer));
    out.member("t", to_string(buffer.aval)).end_object();
  }
  out.end_array();
}

std::string results_of(const PlanStep& step) {
  std::string text;
  for (const tracing::ValueId v : step.group.outputs) text += (text.empty() ? "" : " ") + to_string(step.group.aval(v));
  return text;
}

class Page {
 public:
  explicit Page(const KernelText& kernels) : kernels_(kernels) {}

  void draw(const PlanData& plan, const std::string& title, const std::vector<int64_t>& offsets) {
    out.begin_object().member("bound", plan.lower_bound_bytes);
    write_buffers(out, plan, offsets);
    out.member("peak", plan.peak_bytes).key("steps").begin_array();
    for (const PlanStep& step : plan.steps) write_step(step, plan.naive);
    out.end_array().member("title", title).member("peak_at", peak_step(plan)).end_object();
  }

  JsonWriter out;

 private:
  // `brief`: it is drawn, and not listed.
  void write_step(const PlanStep& step, bool brief) {
    out.begin_object().member("a", step.bytes_added).member("l", step.bytes_live).member("o", step.op);
    if (!brief) {
      write_lines(step);
      if (step.body) {
        out.key("d");
        draw(*step.body, "", {});
      } else {
        out.member("g", step.group.nodes.empty() ? "" : tracing::print(step.group));
        out.member("k", kernels_ && !step.group.nodes.empty() ? kernels_(step) : "");
      }
      out.member("r", step.reads).member("t", results_of(step)).member("w", step.writes).member("x", step.scratch);
      out.member("y", step.reason);
    }
    out.member("s", name(step.strategy)).member("u", where(step)).end_object();
  }

  // The user's lines that a step comes from, with their text where the source is still there.
  void write_lines(const PlanStep& step) {
    constexpr size_t kMost = 20;
    std::vector<std::source_location> lines;
    const auto add = [&](const std::source_location& line) {
      const auto same = [&](const std::source_location& other) {
        return other.line() == line.line() && std::string_view(other.file_name()) == line.file_name();
      };
      if (line.line() > 0 && lines.size() < kMost && std::ranges::none_of(lines, same)) lines.push_back(line);
    };
    add(step.source);
    for (const tracing::Node& node : step.group.nodes) add(node.loc);
    out.key("c").begin_array();
    for (const std::source_location& line : lines) {
      out.begin_array().value(to_string(line)).value(sources_.text(line)).end_array();
    }
    if (lines.empty() && !step.origin.empty()) out.begin_array().value(step.origin).value("").end_array();
    out.end_array();
  }

  const KernelText& kernels_;
  SourceLines sources_;
};

}  // namespace

std::string to_html(const PlanData& plan, const KernelText& kernels) {
  Page page(kernels);
  JsonWriter& out = page.out;
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
  page.draw(plan, plan.naive ? "naive" : "planned", drawn_offsets(plan));
  if (plan.naive_plan) page.draw(*plan.naive_plan, "naive", drawn_offsets(*plan.naive_plan));
  out.end_array().member("seconds", plan.predicted_seconds).key("tradeoff").begin_array();
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
