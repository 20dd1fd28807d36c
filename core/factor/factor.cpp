#include "core/factor/factor.h"

#include "core/isa.h"

namespace neap::factor {

#define NEAP_DECLARE(isa)                                                                         \
  namespace isa {                                                                                 \
  int64_t columns_together(int64_t m);                                                            \
  Layout layout(const Form& form);                                                                \
  void run(const Form& form, const void* triangle, const void* a, void* out, std::byte* scratch); \
  }
NEAP_ISAS(NEAP_DECLARE)
#undef NEAP_DECLARE

int64_t columns_together(int64_t m) { return NEAP_CALL_ISA(columns_together(m)); }

Layout layout(const Form& form) { return NEAP_CALL_ISA(layout(form)); }

void run(const Form& form, const void* triangle, const void* a, void* out, std::byte* scratch) {
  NEAP_CALL_ISA(run(form, triangle, a, out, scratch));
}

}  // namespace neap::factor
