#include "bench/report_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/bytes.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "bench/table.h"

namespace bench {
namespace {

double number(const Json& row, const char* key) {
  const Json v = row.value(key, Json());
  return v.is_number() ? v.get<double>() : 0;
}

std::string text(const Json& row, const char* key) {
  const Json v = row.value(key, Json());
  return v.is_string() ? v.get<std::string>() : std::string();
}

double peak(const Json& row) {
  const double measured = number(row, "measured_peak_bytes");
  return measured > 0 ? measured : number(row, "planned_peak_bytes");
}

double seconds(const Json& row) { return number(row, "seconds_median"); }

std::string bytes(double n) { return neap::format_bytes(static_cast<size_t>(n)); }

// Three digits.
std::string short_seconds(double s) {
  const auto digits = [](double x) {
    return x >= 100 ? fmt::format("{:.0f}", x) : x >= 10 ? fmt::format("{:.1f}", x) : fmt::format("{:.2f}", x);
  };
  if (s >= 1) return digits(s) + " s";
  if (s >= 1e-3) return digits(s * 1e3) + " ms";
  return s >= 1e-6 ? digits(s * 1e6) + " µs" : digits(s * 1e9) + " ns";
}

bool left_out(const Json& row) { return text(row, "note").starts_with("not run"); }

std::string of_bits(const Json& naive, const Json& planned) {
  const std::string a = text(naive, "checksum"), b = text(planned, "checksum");
  if (a.empty() || b.empty()) return {};
  if (a == b) return "same bits";
  const double x = number(naive, "output_sum"), y = number(planned, "output_sum");
  const double apart = std::abs(x - y) / std::max({std::abs(x), std::abs(y), 1e-300});
  if (apart == 0) return "other bits, with the same sum";
  return std::isfinite(apart) ? fmt::format("other bits, whose sums differ by {:.1g} of it", apart) : "other bits";
}

// A line of the table: what it is called, what that means, and its cell for a row of results ("" where it has none).
struct Line {
  const char *name, *meaning;
  std::function<std::string(const Json& row)> cell;
};

std::string bytes_cell(const Json& row, const char* key) {
  const Json v = row.value(key, Json());
  if (!v.is_number()) return {};
  const auto n = v.get<int64_t>();
  return fmt::format("<span title=\"{} bytes\">{}{}</span>", n, n < 0 ? "-" : "",
                     neap::format_bytes(static_cast<size_t>(n < 0 ? -n : n)));
}

std::string over(double a, double b) { return a > 0 && b > 0 ? fmt::format("{:.3g} times", a / b) : std::string(); }

std::vector<Line> lines_of(const CaseRows& c) {
  const auto of_bytes = [](const char* key) { return [key](const Json& r) { return bytes_cell(r, key); }; };
  const auto of_seconds = [](const char* key) {
    return [key](const Json& r) { return number(r, key) > 0 ? format_seconds(number(r, key)) : std::string(); };
  };
  const auto against_naive = [&c](double (*of)(const Json&)) {
    return [&c, of](const Json& r) { return c.naive && c.naive != &r ? over(of(*c.naive), of(r)) : std::string(); };
  };
  return {
      {"planned peak", "what the plan says: arguments, outputs, intermediates and scratch",
       of_bytes("planned_peak_bytes")},
      {"measured peak", "the allocator's high-water mark", of_bytes("measured_peak_bytes")},
      {"resident growth", "of the process, as the operating system saw it", of_bytes("rss_growth_bytes")},
      {"output", "size of the results", of_bytes("output_bytes")},
      {"peak / output", "", [](const Json& r) { return over(peak(r), number(r, "output_bytes")); }},
      {"lower bound", "live bytes in this order of steps: no placing is below", of_bytes("lower_bound_bytes")},
      {"median time", "of a run", of_seconds("seconds_median")},
      {"shortest time", "", of_seconds("seconds_min")},
      {"predicted time", "by the planner, on two threads", of_seconds("predicted_seconds")},
      {"elements", "in a second",
       [](const Json& r) { return seconds(r) > 0 ? format_rate(number(r, "elements_per_second")) : std::string(); }},
      {"naive peak / this", "", against_naive(&peak)},
      {"naive time / this", "", against_naive(&seconds)},
      {"checksum", "of the outputs' bits", [](const Json& r) { return escape(text(r, "checksum")); }},
  };
}

}  // namespace

std::string_view kind_of(const Json& row) {
  const std::string pipeline = text(row, "pipeline");
  return pipeline == "naive" ? "naive" : pipeline == "planned" ? "planned" : pipeline == "by hand" ? "hand" : "peer";
}

std::string escape(const std::string& text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::vector<CaseRows> by_case(std::span<const Json> rows) {
  std::vector<CaseRows> cases;
  for (const Json& row : rows) {
    const std::string name = title(row);
    auto found = std::ranges::find(cases, name, &CaseRows::title);
    if (found == cases.end()) found = cases.insert(cases.end(), CaseRows{name});
    found->rows.push_back(&row);
    if (text(row, "pipeline") == "naive") found->naive = &row;
    if (text(row, "pipeline") == "planned") found->planned = &row;
  }
  return cases;
}

std::string headline(const CaseRows& c) {
  std::string line;
  const auto add = [&](const std::string& part) { line += (line.empty() || part.empty() ? "" : ", ") + part; };
  const auto change = [&](double (*of)(const Json&), std::string (*shown)(double)) {
    const double from = c.naive ? of(*c.naive) : 0, to = c.planned ? of(*c.planned) : 0;
    if (from > 0 && to > 0) return add(from == to ? shown(to) + " in both" : shown(from) + " to " + shown(to));
    if (from > 0 || to > 0) add(shown(std::max(from, to)) + (from > 0 && !c.planned ? ", naive" : ""));
  };
  change(&peak, &bytes);
  change(&seconds, &short_seconds);
  if (c.naive && c.planned) add(of_bits(*c.naive, *c.planned));
  const Json* last = c.planned ? c.planned : c.naive;
  if (last && seconds(*last) <= 0) {
    add(left_out(*last) ? "more than this machine has: planned alone" : "planned, not run");
  } else if (c.naive && c.planned && left_out(*c.naive)) {
    add("naive needs more than this machine has");
  }
  return line;
}

std::string bars_html(const CaseRows& c, Bars what, bool whole) {
  const auto of = what == Bars::peak ? &peak : &seconds;
  double widest = 0;
  for (const Json* r : c.rows) widest = std::max(widest, of(*r));
  if (widest <= 0) return {};
  std::string out = fmt::format("<div class=\"bars{}\">", whole ? "" : " small");
  for (const Json* r : c.rows) {
    const double n = of(*r);
    const std::string_view kind = kind_of(*r);
    if (n <= 0) continue;
    const std::string value = what == Bars::peak ? bytes(n) : short_seconds(n);
    const std::string bar =
        fmt::format("<span class=\"bar\"><i class=\"{}\" style=\"width:{:.2f}%\"{}></i></span>", kind, 100 * n / widest,
                    whole ? "" : fmt::format(" title=\"{}: {}\"", escape(text(*r, "pipeline")), value));
    out += whole ? fmt::format("<span>{}</span>{}<span class=\"n\">{}</span>", escape(text(*r, "pipeline")), bar, value)
                 : bar;
  }
  return out + "</div>";
}

std::string table_html(const CaseRows& c) {
  std::string out = "<div class=\"wide\"><table><tr><th></th>";
  for (const Json* r : c.rows) out += fmt::format("<th class=\"n\">{}</th>", escape(text(*r, "pipeline")));
  out += "</tr>\n";
  for (const Line& line : lines_of(c)) {
    std::string cells;
    bool any = false;
    for (const Json* r : c.rows) {
      const std::string cell = line.cell(*r);
      any = any || !cell.empty();
      cells += fmt::format("<td class=\"n\">{}</td>", cell.empty() ? "-" : cell);
    }
    if (!any) continue;
    const bool explained = *line.meaning != '\0';
    out += fmt::format("<tr><th>{}{}{}{}</th>{}</tr>\n", line.name, explained ? "<small>" : "", line.meaning,
                       explained ? "</small>" : "", cells);
  }
  return out + "</table></div>\n";
}

std::string notes_html(const CaseRows& c) {
  std::string out;
  for (const Json* r : c.rows) {
    std::string line;
    const Json strategies = r->value("strategies", Json());
    if (strategies.is_array() && !strategies.empty())
      line = fmt::format("{}", fmt::join(strategies.get<std::vector<std::string>>(), ", "));
    if (const std::string note = text(*r, "note"); !note.empty()) line += (line.empty() ? "" : "; ") + note;
    if (!line.empty())
      out += fmt::format("<p class=\"note\"><b>{}</b>: {}</p>\n", escape(text(*r, "pipeline")), escape(line));
  }
  return out;
}

}  // namespace bench
