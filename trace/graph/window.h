// Which windows kernels write apart from what lies around them: large arrays, long runs. The library and the planner
// ask.
#pragma once

#include <neap/shape.h>

namespace neap::tracing {

inline constexpr int64_t kLongRun = 16;  // elements that lie together, at least: a vector's worth

inline bool is_worth_writing_apart(const Shape& whole, const Shape& window) {
  constexpr int64_t kWorthMany = 65536;  // elements from which on several launches are worth it
  int64_t run = 1;
  bool is_whole = true;
  for (size_t d = whole.size(); d-- > 0 && is_whole;) {
    run *= window[d];
    is_whole = window[d] == whole[d];
  }
  return element_count(whole) >= kWorthMany && run >= kLongRun;
}

}  // namespace neap::tracing
