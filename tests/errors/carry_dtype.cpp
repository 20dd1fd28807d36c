// expect: while_loop: carry 1 enters as i32[] and leaves as f32[]; expected i32[]
// expect: convert it with astype(i32)
// expect: carry_dtype.cpp:10
// A carry that changes its dtype.
#include <neap/neap.h>

int main() {
  using State = std::pair<neap::Array, neap::Array>;
  const State start{neap::ones({3}), neap::array(0)};
  const State last = neap::while_loop([](const State& s) { return s.second < 3; },
                                      [](const State& s) { return State(s.first * 2, s.second + 1.0f); }, start);
  return static_cast<int>(last.first.size());
}
