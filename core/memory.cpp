#include <neap/memory.h>

#include "core/heap.h"
#include "core/os/os.h"

namespace neap {

namespace memory {

size_t live_bytes() { return detail::Heap::instance().live(); }
size_t peak_bytes() { return detail::Heap::instance().peak(); }
void reset_peak() { detail::Heap::instance().reset_peak(); }
void set_limit(std::optional<size_t> bytes) { detail::Heap::instance().set_limit(bytes); }
std::optional<size_t> limit() { return detail::Heap::instance().limit(); }
size_t cached_bytes() { return detail::Heap::instance().cached(); }
void release_cached() { detail::Heap::instance().release_cached(); }

size_t resident_bytes() { return os::resident_bytes(); }
size_t peak_resident_bytes() { return os::peak_resident_bytes(); }
bool reset_peak_resident() { return os::reset_peak_resident(); }

}  // namespace memory
}  // namespace neap
