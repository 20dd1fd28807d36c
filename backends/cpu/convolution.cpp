#include "backends/cpu/convolution.h"

#include "core/isa.h"

namespace neap::cpu {

#define NEAP_DECLARE(isa)                                                                              \
  namespace isa {                                                                                      \
  void convolve_f32(const planner::ConvolutionForm& form, const void* lhs, const void* rhs, void* out, \
                    std::byte* scratch);                                                               \
  void convolve_f64(const planner::ConvolutionForm& form, const void* lhs, const void* rhs, void* out, \
                    std::byte* scratch);                                                               \
  }
NEAP_ISAS(NEAP_DECLARE)
#undef NEAP_DECLARE

void convolve(const planner::ConvolutionForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch) {
  if (form.dtype == DType::f64) return NEAP_CALL_ISA(convolve_f64(form, lhs, rhs, out, scratch));
  NEAP_CALL_ISA(convolve_f32(form, lhs, rhs, out, scratch));
}

}  // namespace neap::cpu
