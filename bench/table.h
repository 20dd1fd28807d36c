// The results as text: what memory the runs took, then what time.
#pragma once

#include <span>
#include <string>

#include "bench/runner.h"

namespace bench {

// "4.29 G/s", three digits.
std::string format_rate(double per_second);
std::string format_seconds(double seconds);
// "random-normal bf16[46341,46341] under vmap8 form keys"
std::string title(const Json& row);
// The naive row of the same case, form, shape, ...; nullptr where there is none.
const Json* naive_of(std::span<const Json> rows, const Json& row);

// At most 80 columns, the notes aside.
std::string render_table(std::span<const Json> rows);

}  // namespace bench
