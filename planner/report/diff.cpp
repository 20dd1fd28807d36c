#include "planner/report/diff.h"

#include <fmt/format.h>
#include <neap/bytes.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "planner/plan/queries.h"

namespace neap::planner {

namespace {

constexpr double kSlower = 1.01;  // times the predicted time, from which on a plan is worse
constexpr size_t kMostLines = 8;  // lines for buffers of each kind
constexpr size_t kColumns = 66;   // of 80, beside the bytes

std::string signed_bytes(size_t before, size_t after) {
  if (before == after) return "";
  return after > before ? "+" + format_bytes(after - before) : "-" + format_bytes(before - after);
}

std::string percent(double before, double after) {
  return before > 0 && before != after ? fmt::format("{:+.1f} %", (after / before - 1) * 100) : "";
}

void add_bytes(std::string& out, std::string_view what, size_t before, size_t after) {
  out += fmt::format("{:<16} {:>11} {:>11} {:>12} {:>10}\n", what, format_bytes(before), format_bytes(after),
                     signed_bytes(before, after), percent(static_cast<double>(before), static_cast<double>(after)));
}

void add_numbers(std::string& out, const PlanData& before, const PlanData& after) {
  out += fmt::format("{:<16} {:>11} {:>11}\n", "", "before", "after");
  add_bytes(out, "peak", before.peak_bytes, after.peak_bytes);
  add_bytes(out, "lower bound", before.lower_bound_bytes, after.lower_bound_bytes);
  add_bytes(out, "arena", before.arena_bytes, after.arena_bytes);
  if (before.naive_peak_bytes && after.naive_peak_bytes) {
    add_bytes(out, "naive peak", before.naive_peak_bytes, after.naive_peak_bytes);
  }
  const auto steps = [](const PlanData& plan) { return static_cast<int64_t>(plan.steps.size()); };
  const int64_t more = steps(after) - steps(before);
  out += fmt::format("{:<16} {:>11} {:>11} {:>12}\n", "steps", steps(before), steps(after),
                     more ? fmt::format("{:+}", more) : "");
  out += fmt::format("{:<16} {:>9.3g} s {:>9.3g} s {:>12} {:>10}\n", "predicted time", before.predicted_seconds,
                     after.predicted_seconds, "", percent(before.predicted_seconds, after.predicted_seconds));
}

void add_strategies(std::string& out, const PlanData& before, const PlanData& after) {
  std::map<std::string, std::pair<int, int>> counts;
  for (const PlanStep& step : before.steps) ++counts[std::string(name(step.strategy))].first;
  for (const PlanStep& step : after.steps) ++counts[std::string(name(step.strategy))].second;
  std::erase_if(counts, [](const auto& entry) { return entry.second.first == entry.second.second; });
  if (!counts.empty()) out += "\nsteps by strategy:\n";
  for (const auto& [strategy, count] : counts) {
    out += fmt::format("  {:<40} {:>5} -> {}\n", strategy, count.first, count.second);
  }
}

// Buffers of the same label, storage and source, from the largest to the smallest.
using Key = std::tuple<std::string, Storage, std::string>;
using Groups = std::map<Key, std::vector<const PlanBuffer*>>;

Groups grouped(const PlanData& plan) {
  Groups groups;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of < 0 && buffer.bytes > 0) {
      groups[{buffer.label, buffer.storage, where(buffer)}].push_back(&buffer);
    }
  }
  for (auto& [key, list] : groups) {
    std::ranges::sort(list, {}, [](const PlanBuffer* b) { return std::tuple(~b->bytes, b->first, b->last); });
  }
  return groups;
}

struct Line {
  size_t bytes;  // that it is about
  std::string text;
};

void add_lines(std::string& out, std::string_view title, std::vector<Line>& lines) {
  if (lines.empty()) return;
  std::ranges::sort(lines, {}, [](const Line& line) { return std::tuple(~line.bytes, line.text); });
  out += fmt::format("\n{}:\n", title);
  for (size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) out += "  " + lines[i].text + "\n";
  if (lines.size() > kMostLines) out += fmt::format("  and {} more\n", lines.size() - kMostLines);
}

// In about `columns`: the label gives way.
std::string describe(const PlanBuffer& buffer, size_t columns) {
  const std::string head = fmt::format("{} {}, ", name(buffer.storage), to_string(buffer.aval));
  const std::string tail = where(buffer).empty() ? "" : " at " + where(buffer);
  const size_t taken = head.size() + tail.size(), room = taken + 8 < columns ? columns - taken : 8;
  const bool fits = buffer.label.size() <= room;
  return head + (fits ? buffer.label : buffer.label.substr(0, room - 2) + "..") + tail;
}

int64_t length(const PlanBuffer& buffer) { return int64_t{buffer.last} - buffer.first + 1; }

bool is_input(const PlanBuffer& buffer) {
  return buffer.storage == Storage::argument || buffer.storage == Storage::captured;
}

void add_buffers(std::string& out, const PlanData& before, const PlanData& after) {
  Groups was = grouped(before), is = grouped(after);
  for (const auto& entry : was) is[entry.first];  // one list of keys
  std::vector<Line> came, went, grew, longer;
  for (const auto& [key, now] : is) {
    const auto& then = was[key];
    for (size_t i = 0; i < std::max(now.size(), then.size()); ++i) {
      if (i >= then.size()) {
        came.push_back(
            {now[i]->bytes, fmt::format("{:>10}  {}", format_bytes(now[i]->bytes), describe(*now[i], kColumns))});
      } else if (i >= now.size()) {
        went.push_back(
            {then[i]->bytes, fmt::format("{:>10}  {}", format_bytes(then[i]->bytes), describe(*then[i], kColumns))});
      } else if (now[i]->bytes > then[i]->bytes) {
        const size_t more = now[i]->bytes - then[i]->bytes;
        grew.push_back({more, fmt::format("{:>10}  {}", "+" + format_bytes(more), describe(*now[i], kColumns))});
      } else if (!is_input(*now[i]) && length(*now[i]) > length(*then[i])) {
        longer.push_back(
            {now[i]->bytes, fmt::format("{:>10}  {}: {} -> {} steps", format_bytes(now[i]->bytes),
                                        describe(*now[i], kColumns - 20), length(*then[i]), length(*now[i]))});
      }
    }
  }
  add_lines(out, "new buffers", came);
  add_lines(out, "buffers that grew", grew);
  add_lines(out, "buffers that live longer", longer);
  add_lines(out, "buffers that are gone", went);
}

void add_decisions(std::string& out, const PlanData& before, const PlanData& after) {
  std::multimap<std::string, const Decision*> was;
  for (const Decision& decision : before.decisions) was.emplace(decision.what, &decision);
  std::string lines;
  for (const Decision& decision : after.decisions) {
    const auto found = was.find(decision.what);
    if (found == was.end()) {
      lines += fmt::format("  {}: {}, new\n", decision.what, decision.chosen);
      continue;
    }
    if (found->second->chosen != decision.chosen) {
      lines += fmt::format("  {}: {} -> {}\n", decision.what, found->second->chosen, decision.chosen);
      if (!decision.reason.empty()) lines += fmt::format("    {}\n", decision.reason);
    }
    was.erase(found);
  }
  for (const auto& [what, decision] : was) lines += fmt::format("  {}: {}, gone\n", what, decision->chosen);
  if (!lines.empty()) out += "\ndecisions:\n" + lines;
}

}  // namespace

PlanDiff diff_plans(const PlanData& before, const PlanData& after) {
  PlanDiff diff;
  const bool slower = after.predicted_seconds > kSlower * before.predicted_seconds;
  const bool faster = kSlower * after.predicted_seconds < before.predicted_seconds;
  const bool same_peak = after.peak_bytes == before.peak_bytes;
  diff.worse = after.peak_bytes > before.peak_bytes || (same_peak && slower);
  const bool better = after.peak_bytes < before.peak_bytes || (same_peak && faster);
  const std::string name = after.name.empty() ? "a function" : after.name;
  diff.text = fmt::format("plan of {}: {}\n\n", name,
                          diff.worse ? (same_peak ? "worse: slower" : "worse: a higher peak")
                          : better   ? (same_peak ? "better: faster" : "better: a lower peak")
                                     : "neither better nor worse");
  add_numbers(diff.text, before, after);
  add_strategies(diff.text, before, after);
  add_buffers(diff.text, before, after);
  add_decisions(diff.text, before, after);
  return diff;
}

}  // namespace neap::planner
