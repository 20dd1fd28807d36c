// A plan becomes text: one line a step, the peak step marked, then what is alive there and what was decided.
#include <neap/bytes.h>

#include <fmt/format.h>

#include <algorithm>

#include "planner/plan/plan.h"
#include "planner/plan/queries.h"
#include "planner/report/report.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

namespace {

constexpr size_t kColumns = 80;

// Lines of at most 80 columns, broken at spaces.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t room = kColumns - std::min(kColumns / 2, indent.size());
    size_t end = text.size();
    if (end - at > room) {
      end = text.rfind(' ', at + room);
      if (end == std::string::npos || end <= at) end = std::min(text.find(' ', at), text.size());
    }
    out += indent + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

void add_steps(std::string& out, const PlanData& plan, const std::string& indent) {
  const int peak_at = peak_step(plan);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    std::string result;
    for (const tracing::ValueId v : step.group.outputs) {
      if (!result.empty()) result += " ";
      result += to_string(step.group.aval(v));
    }
    out +=
        fmt::format("{}{:>3} {} {:<18} {:<17} {:>10} {:>10} {}\n", indent, s,
                    static_cast<int>(s) == peak_at ? '>' : ' ', shortened(std::string(name(step.strategy)), 18),
                    shortened(result, 17), format_bytes(step.bytes_added), format_bytes(step.bytes_live), where(step));
    const int64_t offset = step.writes.empty() ? -1 : plan.buffers[step.writes[0]].offset;
    out += wrapped(fmt::format("{}{}{}", shortened(step.op, 60), step.reason.empty() ? "" : ": " + step.reason,
                               offset >= 0 ? fmt::format(" (at {})", offset) : ""),
                   indent + "      ");
    if (step.body) add_steps(out, *step.body, indent + "    ");
  }
}

}  // namespace

std::string to_text(const PlanData& plan) {
  std::string out = fmt::format("plan of {}: {} steps{}\n", plan.name.empty() ? "a function" : plan.name,
                                plan.steps.size(), plan.naive ? ", naive" : "");
  out += fmt::format("{:>3}   {:<18} {:<17} {:>10} {:>10} {}\n", "#", "strategy", "result", "adds", "live", "source");
  add_steps(out, plan, "");
  out += fmt::format("\npeak         {:>11}  ({} bytes)\n", format_bytes(plan.peak_bytes), plan.peak_bytes);
  out += fmt::format("lower bound  {:>11}  ({} bytes, peak / bound {:.3f})\n", format_bytes(plan.lower_bound_bytes),
                     plan.lower_bound_bytes,
                     plan.lower_bound_bytes
                         ? static_cast<double>(plan.peak_bytes) / static_cast<double>(plan.lower_bound_bytes)
                         : 1.0);
  if (plan.naive_peak_bytes > 0) {
    out +=
        fmt::format("naive        {:>11}  ({:.2f} x)\n", format_bytes(plan.naive_peak_bytes),
                    static_cast<double>(plan.naive_peak_bytes) / std::max(1.0, static_cast<double>(plan.peak_bytes)));
  }
  if (const size_t host = host_bytes(plan)) {
    out += fmt::format("on the host  {:>11}  ({} bytes, beside the peak)\n", format_bytes(host), host);
  }
  if (plan.budget)
    out += fmt::format("budget       {:>11}{}\n", format_bytes(*plan.budget),
                       plan.budget_of_machine ? "  (the memory that was left)" : "");
  out += "\nalive at the peak:\n" + describe_alive(plan, "  ");
  if (!plan.decisions.empty()) out += "\ndecisions:\n";
  for (const Decision& decision : plan.decisions) {
    out += wrapped(fmt::format("{}: {} ({})", decision.what, decision.chosen, decision.reason), "  ");
    for (const Alternative& other : decision.alternatives) {
      out += fmt::format("    {:<20} {:>11}  {:.3g} s{}\n", other.name, format_bytes(other.peak_bytes), other.cost,
                         other.name == decision.chosen ? "  *" : "");
    }
  }
  return out;
}

}  // namespace neap::planner
