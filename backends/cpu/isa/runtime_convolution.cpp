// What saved functions call for a convolution (backends/cpu/runtime).
#include "backends/cpu/runtime/entry.h"
#include "backends/cpu/runtime/forms.h"

namespace neap::cpu::NEAP_ISA {

void convolve_f32(const planner::ConvolutionForm& form, const void* lhs, const void* rhs, void* out,
                  std::byte* scratch);
void convolve_f64(const planner::ConvolutionForm& form, const void* lhs, const void* rhs, void* out,
                  std::byte* scratch);

}  // namespace neap::cpu::NEAP_ISA

extern "C" {

void NEAP_RUNTIME_ENTRY(convolve_f32)(const int64_t* form, const void* lhs, const void* rhs, void* out,
                                      std::byte* scratch) {
  neap::cpu::NEAP_ISA::convolve_f32(neap::cpu::runtime::decode_convolution(form), lhs, rhs, out, scratch);
}
void NEAP_RUNTIME_ENTRY(convolve_f64)(const int64_t* form, const void* lhs, const void* rhs, void* out,
                                      std::byte* scratch) {
  neap::cpu::NEAP_ISA::convolve_f64(neap::cpu::runtime::decode_convolution(form), lhs, rhs, out, scratch);
}

}  // extern "C"
