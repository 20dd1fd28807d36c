// neap-report.html: one file, opens offline. A picture and a line for each case; below, the case with its bars and,
// folded, its table and the plans' own pages. Tested in tests/bench/check_report.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/about.h"
#include "bench/runner.h"

namespace bench {

struct PlanPage {
  std::string title, html;  // html: a whole page, embedded as it is
};

std::string render_html(std::span<const Json> rows, std::span<const PlanPage> plans, const Facts& facts);

// UsageError unless a file can be made at `path`; leaves nothing behind. To ask before minutes of work.
void require_writable(const std::string& path);

// As neap::write_file_atomic. UsageError where that cannot be.
void write_file(const std::string& path, const std::string& text);

}  // namespace bench
