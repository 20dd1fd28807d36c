// What saved functions call for a dense factorization (backends/cpu/runtime).
#include "backends/cpu/runtime/entry.h"
#include "backends/cpu/runtime/forms.h"

namespace neap::factor::NEAP_ISA {

void run(const Form& form, const void* triangle, const void* a, void* out, std::byte* scratch);

}  // namespace neap::factor::NEAP_ISA

extern "C" void NEAP_RUNTIME_ENTRY(factor)(const int64_t* form, const void* triangle, const void* a, void* out,
                                           std::byte* scratch) {
  neap::factor::NEAP_ISA::run(neap::cpu::runtime::decode_factor(form), triangle, a, out, scratch);
}
