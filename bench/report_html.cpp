#include "bench/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/case.h"
#include "bench/report_case.h"
#include "core/file.h"

namespace bench {
namespace {

constexpr const char* kHead =
#include "bench/report_style.inc"
    ;

std::string facts_html(const Facts& facts) {
  std::string out = "<ul class=\"facts\">";
  for (const auto& [name, value] : facts) out += fmt::format("<li><b>{}</b> {}</li>", name, escape(value));
  return out + "</ul>\n";
}

// What the bars' colors mean, of those that there are.
std::string key_html(const std::vector<CaseRows>& cases) {
  constexpr std::pair<const char*, const char*> kKinds[] = {
      {"naive", "naive"}, {"planned", "planned"}, {"hand", "by hand"}, {"peer", "other libraries"}};
  std::string out;
  for (const auto& [kind, name] : kKinds) {
    const auto has = [&](const CaseRows& c) {
      return std::ranges::any_of(c.rows, [&](const Json* row) { return kind_of(*row) == kind; });
    };
    if (std::ranges::any_of(cases, has)) out += fmt::format("<i class=\"{}\"></i>{}", kind, name);
  }
  return out;
}

// The picture: a line for each case, and its bars of peak and of time, each set in a scale of its own.
std::string picture_html(const std::vector<CaseRows>& cases) {
  std::string out = "<div class=\"picture\"><div class=\"case head\"><span class=\"key\">" + key_html(cases) +
                    "</span><span>peak of memory</span><span>time of a run</span></div>\n";
  const std::string none = "<span class=\"dim\">not measured</span>";
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string peak = bars_html(cases[i], Bars::peak, false), time = bars_html(cases[i], Bars::time, false);
    out += fmt::format(
        "<div class=\"case\"><div><a href=\"#case{}\">{}</a><div class=\"line\">{}</div></div>{}{}</div>\n", i,
        escape(cases[i].title), escape(headline(cases[i])), peak.empty() ? none : peak, time.empty() ? none : time);
  }
  return out + "</div>\n";
}

std::string case_html(const CaseRows& c, size_t number, std::span<const PlanPage> plans) {
  const std::string name = c.rows.front()->value("case", "");
  std::string out = fmt::format("<h2 id=\"case{}\">{}</h2>\n<p class=\"line\">{}</p>\n", number, escape(c.title),
                                escape(headline(c)));
  out += fmt::format("<p>What it is: {}.</p>\n<p class=\"dim\">{}</p>\n", escape(find_case(name).what),
                     escape(origin_of(name)));
  const std::string peak = bars_html(c, Bars::peak, true), time = bars_html(c, Bars::time, true);
  out += "<div class=\"two\">";
  if (!peak.empty()) out += "<div><h3>peak of memory</h3>" + peak + "</div>";
  if (!time.empty()) out += "<div><h3>time of a run, median</h3>" + time + "</div>";
  out += "</div>\n<details><summary>All numbers</summary>\n" + table_html(c) + notes_html(c) + "</details>\n";
  for (const PlanPage& p : plans) {
    if (!p.title.starts_with(c.title + " (")) continue;
    out += fmt::format(
        "<details><summary>Plan of {}</summary><iframe loading=\"lazy\" title=\"Plan of {}\" "
        "srcdoc=\"{}\"></iframe></details>\n",
        escape(p.title), escape(p.title), escape(p.html));
  }
  return out;
}

UsageError cannot_write(const std::system_error& error) { return {fmt::format("cannot write {}", error.what())}; }

}  // namespace

std::string render_html(std::span<const Json> rows, std::span<const PlanPage> plans, const Facts& facts) {
  const std::vector<CaseRows> cases = by_case(rows);
  std::string out = kHead;
  out += "<h1>Neap: peaks and times</h1>\n" + facts_html(facts);
  out += picture_html(cases);
  out +=
      "<p class=\"note dim\">Each measured run is a process of its own. <em>naive</em> is the same compiler with every "
      "operation stored, in program order; <em>planned</em> is what Neap does. A peak counts arguments, outputs, "
      "intermediates and scratch; where a case was run it is the allocator's high-water mark. <em>by hand</em> is a "
      "kernel written for the one case; other names are other libraries, with peaks as they count them. Bars of a "
      "picture share its scale, which begins at zero.</p>\n";
  for (size_t i = 0; i < cases.size(); ++i) out += case_html(cases[i], i, plans);
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
