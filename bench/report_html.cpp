#include "bench/report_html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/bytes.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "bench/table.h"
#include "core/file.h"

namespace bench {
namespace {

constexpr const char* kHead = R"(<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Neap report</title><style>
:root{color-scheme:light dark;--fg:#1c2430;--bg:#fbfcfd;--line:#d5dbe3;--naive:#c98a3c;--planned:#2f7f86}
@media(prefers-color-scheme:dark){:root{--fg:#dfe6ee;--bg:#12171d;--line:#34404d}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg);margin:2rem auto;max-width:80rem;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2rem 0 .4rem}table{border-collapse:collapse;width:100%;
font-variant-numeric:tabular-nums}th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right}
td{white-space:nowrap}th:first-child,td:first-child{text-align:left}th{font-weight:600}.bar{height:.7rem;border-radius:2px;min-width:1px}
.naive{background:var(--naive)}.planned,.other{background:var(--planned)}.note{opacity:.8;margin:.3rem 0}
iframe{width:100%;height:46rem;border:1px solid var(--line);background:#fff}summary{cursor:pointer;margin:.4rem 0}
.wide{overflow-x:auto}</style></head><body><h1>Neap report</h1>
<p>Each row is a run in a process of its own. <em>naive</em>: the same compiler, every operation stored, in program
order. Peaks count arguments, outputs, intermediates and scratch; resident growth is what the operating system saw.</p>
)";

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

std::string bytes_cell(const Json& row, const char* key) {
  const Json v = row.value(key, Json());
  if (v.is_null()) return "<td>-</td>";
  const auto n = v.get<int64_t>();
  return fmt::format("<td title=\"{} bytes\">{}{}</td>", n, n < 0 ? "-" : "",
                     neap::format_bytes(static_cast<size_t>(n < 0 ? -n : n)));
}

double number(const Json& row, const char* key) {
  const Json v = row.value(key, Json());
  return v.is_null() ? 0 : v.get<double>();
}

double peak(const Json& row) {
  const double measured = number(row, "measured_peak_bytes");
  return measured > 0 ? measured : number(row, "planned_peak_bytes");
}

std::string over(double a, double b) { return a > 0 && b > 0 ? fmt::format("{:.3g}", a / b) : "-"; }

std::string row_html(std::span<const Json> rows, const Json& r, double widest) {
  const std::string pipeline = r.value("pipeline", "");
  const double median = number(r, "seconds_median");
  const Json* naive = naive_of(rows, r);
  if (naive == &r) naive = nullptr;
  std::string out = fmt::format("<tr><td>{}</td>", escape(pipeline));
  for (const char* key : {"planned_peak_bytes", "measured_peak_bytes", "rss_growth_bytes", "output_bytes"}) {
    out += bytes_cell(r, key);
  }
  out += fmt::format("<td>{}</td>", over(peak(r), number(r, "output_bytes"))) + bytes_cell(r, "lower_bound_bytes");
  out += fmt::format("<td>{}</td><td>{}</td><td>{}</td>", median > 0 ? format_seconds(median) : "-",
                     median > 0 ? format_seconds(number(r, "seconds_min")) : "-",
                     median > 0 ? format_rate(number(r, "elements_per_second")) : "-");
  out += fmt::format("<td>{}</td><td>{}</td>", naive ? over(peak(*naive), peak(r)) : "-",
                     naive ? over(number(*naive, "seconds_median"), median) : "-");
  const char* kind = pipeline == "naive" ? "naive" : pipeline == "planned" ? "planned" : "other";
  return out +
         fmt::format(
             "<td style=\"width:9rem\"><div class=\"bar {}\" style=\"width:{:.2f}%\" title=\"peak\"></div></td></tr>\n",
             kind, widest > 0 ? 100 * peak(r) / widest : 0);
}

std::string notes_html(const Json& r) {
  std::string text = fmt::format("{}: ", escape(r.value("pipeline", "")));
  const Json strategies = r.value("strategies", Json());
  if (strategies.is_array())
    text += escape(fmt::format("{}", fmt::join(strategies.get<std::vector<std::string>>(), ", ")));
  if (const Json n = r.value("note", Json()); n.is_string()) text += " - " + escape(n.get<std::string>());
  if (const Json c = r.value("checksum", Json()); c.is_string()) text += " - checksum " + c.get<std::string>();
  return "<p class=\"note\">" + text + "</p>\n";
}

UsageError cannot_write(const std::system_error& error) { return {fmt::format("cannot write {}", error.what())}; }

}  // namespace

std::string render_html(std::span<const Json> rows, std::span<const PlanPage> plans) {
  std::string out = kHead;
  std::vector<std::string> seen;
  for (const Json& first : rows) {
    const std::string name = title(first);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    std::vector<const Json*> group;
    double widest = 0;
    for (const Json& r : rows) {
      if (title(r) == name) group.push_back(&r), widest = std::max(widest, peak(r));
    }
    out += fmt::format(
        "<h2>{}</h2>\n<div class=\"wide\"><table><tr><th>pipeline</th><th>planned peak</th>"
        "<th>measured peak</th><th>resident growth</th><th>output</th><th>peak / output</th>"
        "<th>lower bound</th><th>median</th><th>minimum</th><th>elements</th><th>naive / this, bytes</th>"
        "<th>time</th><th>peak</th></tr>\n",
        escape(name));
    for (const Json* r : group) out += row_html(rows, *r, widest);
    out += "</table></div>\n";
    for (const Json* r : group) out += notes_html(*r);
    for (const PlanPage& p : plans) {
      if (!p.title.starts_with(name + " (")) continue;
      out += fmt::format(
          "<details><summary>Plan of {}</summary><iframe loading=\"lazy\" title=\"Plan of {}\" "
          "srcdoc=\"{}\"></iframe></details>\n",
          escape(p.title), escape(p.title), escape(p.html));
    }
  }
  return out + "</body></html>\n";
}

void write_file(const std::string& path, const std::string& text) {
  try {
    neap::write_file_atomic(path, text);
  } catch (const std::system_error& error) {
    throw cannot_write(error);
  }
}

void require_writable(const std::string& path) {
  // A pipe must not be opened twice: its reader would take the first end for the last.
  std::error_code ignored;
  if (std::filesystem::is_other(std::filesystem::status(path, ignored))) return;
  try {
    const neap::AtomicFile probe(path);
  } catch (const std::system_error& error) {
    throw cannot_write(error);
  }
}

}  // namespace bench
