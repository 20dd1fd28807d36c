// What saved functions call for a cumulative op.
#include "backends/cpu/cumulative.h"

#include "backends/cpu/runtime/forms.h"

extern "C" void neap_runtime_cumulate(const int64_t* form, const void* in, void* out, std::byte* scratch) {
  neap::cpu::cumulate(neap::cpu::runtime::decode_cumulative(form), in, out, scratch);
}
