#include "backends/cpu/gemm.h"

#include "core/isa.h"

namespace neap::cpu {

#define NEAP_DECLARE(isa)                                                                                       \
  namespace isa {                                                                                               \
  void gemm_f32(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch,  \
                bool has_tiles);                                                                                \
  void gemm_f64(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch); \
  }
NEAP_ISAS(NEAP_DECLARE)
#undef NEAP_DECLARE

void gemm(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch, bool tiles) {
  if (form.dtype == DType::f64) return NEAP_CALL_ISA(gemm_f64(form, lhs, rhs, out, scratch));
  NEAP_CALL_ISA(gemm_f32(form, lhs, rhs, out, scratch, tiles));
}

}  // namespace neap::cpu
