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

void gemm(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch,
          bool may_use_tiles) {
  if (form.dtype == DType::f64) return NEAP_CALL_ISA(gemm_f64(form, lhs, rhs, out, scratch));
  // Only products of bf16 ask for tiles, as that changes what the system wants of stacks for signals.
  const bool tiles = form.of_bf16 && may_use_tiles && uses_tiles();
  NEAP_CALL_ISA(gemm_f32(form, lhs, rhs, out, scratch, tiles));
}

}  // namespace neap::cpu
