// One case of a report: its headline, its bars, its table. HTML without scripts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/runner.h"

namespace bench {

// The rows of one case at one size.
struct CaseRows {
  std::string title;  // as title() has it
  std::vector<const Json*> rows;
  const Json *naive = nullptr, *planned = nullptr;  // among them; null where it was not asked for
};

// "naive", "planned", "hand" or "peer": who made a row, as the page's colors go.
std::string_view kind_of(const Json& row);

// The cases in the order in which they ran.
std::vector<CaseRows> by_case(std::span<const Json> rows);

// "12.00 GiB to 4.00 GiB, 22.1 s to 1.94 s, same bits": naive to planned, as far as there is something to say.
std::string headline(const CaseRows& c);

// One bar for each of the rows that has the number: naive first, then planned, by hand, peers. "" where none has.
// `whole`: with names and numbers at the bars.
enum class Bars { peak, time };
std::string bars_html(const CaseRows& c, Bars what, bool whole);

// One column for each row of results.
std::string table_html(const CaseRows& c);
// Strategies, remarks.
std::string notes_html(const CaseRows& c);

std::string escape(const std::string& text);

}  // namespace bench
