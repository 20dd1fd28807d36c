// A program to be looked at (check_gdb): arrays of all kinds stand in one frame.
#include <neap/neap.h>

#include <cstdio>

struct Pair {
  neap::Array left, right;
};

[[gnu::noinline]] void look_here(const Pair& pair, const neap::Array& none, const neap::Array& pi,
                                 const neap::Array& many) {
  std::printf("%d\n", static_cast<int>(pair.left.size() + pi.size() + many.size()) + (none.is_concrete() ? 1 : 0));
}

int main() {
  const Pair pair{neap::array({{1.5f, 2.0f}, {3.0f, 4.0f}}), neap::spec({2, 3}, neap::bf16)};
  look_here(pair, neap::Array(), neap::array(neap::bfloat16(3.14159f)), neap::reshape(neap::arange(2000), {50, 40}));
  return 0;
}
