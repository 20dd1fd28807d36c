// A program to be looked at (check_gdb): arrays of all kinds stand in one frame.
#include <neap/neap.h>

#include <cstdio>

struct Pair {
  neap::Array left, right;
};

[[gnu::noinline]] void look(const Pair& pair, const neap::Array& none) {
  std::printf("%d\n", static_cast<int>(pair.left.size() + static_cast<int64_t>(none.is_concrete())));
}

int main() {
  const Pair pair{neap::array({{1.5f, 2.0f}, {3.0f, 4.0f}}), neap::spec({2, 3}, neap::bf16)};
  look(pair, neap::Array());
  return 0;
}
