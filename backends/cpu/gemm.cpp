#include "backends/cpu/gemm.h"

#include "core/isa.h"

namespace neap::cpu {

#define NEAP_DECLARE(isa)                                                                                   \
  namespace isa {                                                                                           \
  void gemm(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch); \
  }
NEAP_ISAS(NEAP_DECLARE)
#undef NEAP_DECLARE

void gemm(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch) {
  NEAP_CALL_ISA(gemm(form, lhs, rhs, out, scratch));
}

}  // namespace neap::cpu
