#include <neap/error.h>
#include <neap/plan.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <system_error>

#include "core/file.h"
#include "jit/step_kernels.h"
#include "planner/plan/plan.h"
#include "planner/report/report.h"

namespace neap {

namespace {
void write(std::string_view what, const std::filesystem::path& path, const std::string& text,
           std::source_location loc) {
  try {
    write_file_atomic(path, text);
  } catch (const std::system_error& error) {
    throw_user<UserError>(what, error.what(), "", "", loc);
  }
}
}  // namespace

const planner::PlanData& Plan::data() const {
  if (!data_)
    throw_user<UserError>("Plan", "an empty plan is read", "one that plan(...) or last_plan() returned", "", {});
  return *data_;
}

size_t Plan::peak_bytes() const { return data().peak_bytes; }
size_t Plan::lower_bound_bytes() const { return data().lower_bound_bytes; }
size_t Plan::naive_peak_bytes() const { return data().naive_peak_bytes; }
size_t Plan::host_bytes() const { return planner::host_bytes(data()); }
size_t Plan::num_steps() const { return data().steps.size(); }
const Strategies& Plan::strategies() const& { return data().strategies; }

std::string Plan::decision(const std::string& what) const {
  for (const planner::Decision& d : data().decisions)
    if (d.what.find(what) != std::string::npos) return d.chosen;
  return {};
}

std::string Plan::to_text() const { return planner::to_text(data()); }
std::string Plan::to_json() const { return planner::to_json(data()); }
std::string Plan::to_html() const { return planner::to_html(data(), jit_detail::step_kernels); }
void Plan::write_json(const std::filesystem::path& path, std::source_location loc) const {
  write("write_json", path, to_json(), loc);
}
void Plan::write_html(const std::filesystem::path& path, std::source_location loc) const {
  write("write_html", path, to_html(), loc);
}

std::ostream& operator<<(std::ostream& out, const Plan& plan) { return out << plan.to_text(); }
std::ostream& operator<<(std::ostream& out, const Strategies& strategies) {
  return out << fmt::format("{}", fmt::join(strategies, ", "));
}

}  // namespace neap
