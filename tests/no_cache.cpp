// Tests compile what they test: no test finds code that an earlier one left on disk, unless it says so.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kSet = setenv("NEAP_CACHE", "off", 0);

}  // namespace
