#include <neap/version.h>

namespace neap {

int version() noexcept { return NEAP_VERSION; }

}  // namespace neap
