#include <neap/error.h>
#include <neap/plan.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <system_error>

#include "core/file.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"

namespace neap {

namespace {
void write(std::string_view what, const std::filesystem::path& path, const std::string& text) {
  try {
    write_file_atomic(path, text);
  } catch (const std::system_error& error) {
    throw UserError(std::string(what) + ": " + error.what());
  }
}
}  // namespace

size_t Plan::peak_bytes() const { return data_->peak_bytes; }
size_t Plan::lower_bound_bytes() const { return data_->lower_bound_bytes; }
size_t Plan::naive_peak_bytes() const { return data_->naive_peak_bytes; }
size_t Plan::host_bytes() const { return planner::host_bytes(*data_); }
size_t Plan::num_steps() const { return data_->steps.size(); }
Strategies Plan::strategies() const { return {data_->strategies.begin(), data_->strategies.end()}; }

std::string Plan::decision(const std::string& what) const {
  for (const planner::Decision& d : data_->decisions)
    if (d.what.find(what) != std::string::npos) return d.chosen;
  return {};
}

std::string Plan::to_text() const { return planner::to_text(*data_); }
std::string Plan::to_json() const { return planner::to_json(*data_); }
std::string Plan::to_html() const { return planner::to_html(*data_); }
void Plan::write_json(const std::filesystem::path& path) const { write("write_json", path, to_json()); }
void Plan::write_html(const std::filesystem::path& path) const { write("write_html", path, to_html()); }

std::ostream& operator<<(std::ostream& out, const Plan& plan) { return out << plan.to_text(); }
std::ostream& operator<<(std::ostream& out, const Strategies& strategies) {
  return out << fmt::format("{}", fmt::join(strategies, ", "));
}

}  // namespace neap
