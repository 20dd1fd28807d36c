// What saved functions call for Fourier transforms (backends/cpu/runtime).
#include "backends/cpu/runtime/entry.h"
#include "backends/cpu/runtime/forms.h"

namespace neap::cpu::NEAP_ISA {

void transform_f32(const planner::FourierForm& form, const std::byte* tables, const void* in, void* out,
                   std::byte* scratch);
void transform_f64(const planner::FourierForm& form, const std::byte* tables, const void* in, void* out,
                   std::byte* scratch);

}  // namespace neap::cpu::NEAP_ISA

extern "C" {

void NEAP_RUNTIME_ENTRY(transform_f32)(const int64_t* form, const std::byte* tables, const void* in, void* out,
                                       std::byte* scratch) {
  neap::cpu::NEAP_ISA::transform_f32(neap::cpu::runtime::decode_fourier(form), tables, in, out, scratch);
}
void NEAP_RUNTIME_ENTRY(transform_f64)(const int64_t* form, const std::byte* tables, const void* in, void* out,
                                       std::byte* scratch) {
  neap::cpu::NEAP_ISA::transform_f64(neap::cpu::runtime::decode_fourier(form), tables, in, out, scratch);
}

}  // extern "C"
