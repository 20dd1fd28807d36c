// What saved functions call for a sort.
#include "backends/cpu/sort.h"

#include "backends/cpu/runtime/forms.h"

extern "C" void neap_runtime_sort(const int64_t* form, const void* in, void* out, std::byte* scratch) {
  neap::cpu::sort(neap::cpu::runtime::decode_sort(form), in, out, scratch);
}
