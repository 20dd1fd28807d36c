#include "bench/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/bytes.h>

#include <algorithm>

namespace bench {
namespace {

std::string bytes(const Json& row, const char* key) {
  const Json& v = row.value(key, Json());
  if (v.is_null()) return "-";
  const auto n = v.get<int64_t>();
  return n < 0 ? "-" + neap::format_bytes(static_cast<size_t>(-n)) : neap::format_bytes(static_cast<size_t>(n));
}

double number(const Json& row, const char* key) {
  const Json v = row.value(key, Json());
  return v.is_null() ? 0 : v.get<double>();
}

double peak(const Json& row) {
  const double measured = number(row, "measured_peak_bytes");
  return measured > 0 ? measured : number(row, "planned_peak_bytes");
}

std::string ratio(double a, double b) {
  if (a <= 0 || b <= 0) return "-";
  const double r = a / b;
  if (r >= 1e5) return fmt::format("{:.1e}x", r);
  return r >= 1000 ? fmt::format("{:.0f}x", r) : r >= 100 ? fmt::format("{:.1f}x", r) : fmt::format("{:.3f}x", r);
}

bool same_work(const Json& a, const Json& b) {
  for (const char* key : {"case", "form", "under", "device", "dtype", "shape"}) {
    if (a.value(key, Json()) != b.value(key, Json())) return false;
  }
  return true;
}

std::string notes(const Json& row) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (const Json s = row.value("strategies", Json()); s.is_array() && !s.empty()) {
    add(fmt::format("{}", fmt::join(s.get<std::vector<std::string>>(), ", ")));
  }
  if (const Json n = row.value("note", Json()); n.is_string()) add(n.get<std::string>());
  return text;
}

// The line, broken at spaces so that it stays within 80 columns; what follows is indented.
std::string wrapped(std::string line) {
  std::string out;
  for (const std::string indent = "    "; line.size() > 80;) {
    const size_t at = line.rfind(' ', 80);
    if (at == std::string::npos || at <= indent.size()) break;
    out += line.substr(0, at) + "\n";
    line = indent + line.substr(at + 1);
  }
  return out + line + "\n";
}

// Cases in the order in which they were run, each with its rows.
std::vector<std::vector<const Json*>> groups(std::span<const Json> rows) {
  std::vector<std::vector<const Json*>> all;
  for (const Json& row : rows) {
    auto same = std::find_if(all.begin(), all.end(), [&](const auto& g) { return same_work(*g.front(), row); });
    if (same == all.end()) same = all.insert(all.end(), std::vector<const Json*>{});
    same->push_back(&row);
  }
  return all;
}

}  // namespace

std::string format_rate(double per_second) {
  if (per_second >= 1e9) return fmt::format("{:.2f} G/s", per_second / 1e9);
  if (per_second >= 1e6) return fmt::format("{:.1f} M/s", per_second / 1e6);
  if (per_second >= 1e3) return fmt::format("{:.1f} k/s", per_second / 1e3);
  return fmt::format("{:.1f} /s", per_second);
}

std::string format_seconds(double s) {
  if (s >= 1) return fmt::format("{:.3f} s", s);
  if (s >= 1e-3) return fmt::format("{:.3f} ms", s * 1e3);
  return fmt::format("{:.3f} us", s * 1e6);
}

std::string title(const Json& row) {
  std::string text = fmt::format("{} {}[{}]", row.value("case", ""), row.value("dtype", ""),
                                 fmt::join(row.value("shape", std::vector<int64_t>{}), ","));
  const std::string form = row.value("form", ""), under = row.value("under", "none"),
                    device = row.value("device", "cpu");
  if (under != "none") text += " under " + under;
  if (!form.empty() && form != "plain") text += ", " + form + " form";
  if (device != "cpu") text += ", " + device;
  return text;
}

const Json* naive_of(std::span<const Json> rows, const Json& row) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Json& other) {
    return other.value("pipeline", "") == "naive" && same_work(row, other);
  });
  return found == rows.end() ? nullptr : &*found;
}

std::string render_table(std::span<const Json> rows) {
  std::string out;
  for (const auto& group : groups(rows)) {
    out += title(*group.front()) + "\n";
    out += fmt::format("  {:<9}{:>11}{:>11}{:>11}{:>11}{:>10}{:>11}\n", "memory", "planned", "measured", "resident",
                       "output", "peak/out", "bound");
    for (const Json* r : group) {
      out += fmt::format("  {:<9}{:>11}{:>11}{:>11}{:>11}{:>10}{:>11}\n", r->value("pipeline", ""),
                         bytes(*r, "planned_peak_bytes"), bytes(*r, "measured_peak_bytes"),
                         bytes(*r, "rss_growth_bytes"), bytes(*r, "output_bytes"),
                         ratio(peak(*r), number(*r, "output_bytes")), bytes(*r, "lower_bound_bytes"));
    }
    out += fmt::format("  {:<9}{:>11}{:>11}{:>11}{:>20}{:>13}\n", "time", "median", "minimum", "elements",
                       "naive/this: bytes", "time");
    for (const Json* r : group) {
      const double median = number(*r, "seconds_median"), least = number(*r, "seconds_min");
      const Json* naive = naive_of(rows, *r);
      out += fmt::format("  {:<9}{:>11}{:>11}{:>11}{:>20}{:>13}\n", r->value("pipeline", ""),
                         median > 0 ? format_seconds(median) : "-", least > 0 ? format_seconds(least) : "-",
                         median > 0 ? format_rate(number(*r, "elements_per_second")) : "-",
                         naive && naive != r ? ratio(peak(*naive), peak(*r)) : "-",
                         naive && naive != r ? ratio(number(*naive, "seconds_median"), median) : "-");
    }
    for (const Json* r : group) {
      const std::string pipeline = r->value("pipeline", "");
      if (const std::string n = notes(*r); !n.empty()) out += wrapped(fmt::format("  {}: {}", pipeline, n));
    }
    const Json *naive = naive_of(rows, *group.front()), *last = group.front();
    for (const Json* r : group) {
      if (r->value("pipeline", "") == "planned") last = r;
    }
    if (naive && naive != last && naive->value("checksum", Json()).is_string() &&
        last->value("checksum", Json()).is_string()) {
      out += (*naive)["checksum"] == (*last)["checksum"] ? "  same bits, naive and planned\n"
                                                         : "  the bits of naive and planned differ\n";
    }
    out += "\n";
  }
  return out;
}

}  // namespace bench
