// What saved functions call for a matrix product (backends/cpu/runtime).
#include "backends/cpu/runtime/entry.h"
#include "backends/cpu/runtime/forms.h"
#include "core/isa.h"

namespace neap::cpu::NEAP_ISA {

void gemm_f32(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch,
              bool has_tiles);
void gemm_f64(const planner::DotForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch);

}  // namespace neap::cpu::NEAP_ISA

extern "C" {

void NEAP_RUNTIME_ENTRY(gemm_f32)(const int64_t* form, const void* lhs, const void* rhs, void* out,
                                  std::byte* scratch) {
  const neap::planner::DotForm decoded = neap::cpu::runtime::decode_dot(form);
#if defined(__AVX512F__)
  const bool tiles = decoded.of_bf16 && neap::has_tiles();
#else
  const bool tiles = false;
#endif
  neap::cpu::NEAP_ISA::gemm_f32(decoded, lhs, rhs, out, scratch, tiles);
}
void NEAP_RUNTIME_ENTRY(gemm_f64)(const int64_t* form, const void* lhs, const void* rhs, void* out,
                                  std::byte* scratch) {
  neap::cpu::NEAP_ISA::gemm_f64(neap::cpu::runtime::decode_dot(form), lhs, rhs, out, scratch);
}

}  // extern "C"
