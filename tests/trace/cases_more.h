// Cases of the later functions of the library: segments, windows, attention, images, signals.
#pragma once

#include <neap/creation.h>
#include <neap/reduce.h>

#include <vector>

#include "tests/trace/case.h"

namespace neap::tracing {

inline std::vector<Case> more_cases() {
  const Aval m{{3, 4}, f64};
  return {
      {"segments",
       {m, {{3}, i32}},
       [](const Arrays& in) {
         return Arrays{segment_sum(in[0], in[1], 3), segment_prod(in[0], in[1], 3),
                       clip(segment_max(in[0], in[1], 2), -9, 9), clip(segment_min(in[0], in[1], 3), -9, 9)};
       },
       -2,
       2,
       -1,
       2},
  };
}

}  // namespace neap::tracing
