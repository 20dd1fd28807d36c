// expect: limit
// expect: [over_limit.cpp:9]
// An allocation over the hard limit.
#include <neap/neap.h>
using namespace neap::literals;

int main() {
  neap::memory::set_limit(16_MiB);
  return static_cast<int>(neap::ones({64, 1024, 1024}).size());
}
