#include "planner/kernels/families.h"

#include <array>

namespace neap::planner {

using tracing::Family;
using Kind = PlanStep::Kind;

namespace {

constexpr bool yes = true, no = false;

// The rows are in the order of the enumeration. Complex numbers and calls are lowered before; costs
// of 0 are counted elsewhere (predict.cpp). `neap-limits` measures random bits and scatters, by whose speed theirs are.
// clang-format off
constexpr std::array kFamilies = {
    //           family               stored by      fusible  same_index  in_place  cost
    FamilyTraits{Family::elementwise, Kind::map,     yes,     yes,        yes,      kByOp},
    FamilyTraits{Family::leaf,        Kind::map,     yes,     no,         no,       kByOp},
    FamilyTraits{Family::convert,     Kind::map,     yes,     yes,        yes,      kByOp},
    FamilyTraits{Family::complex,     Kind::map,     no,      no,         no,       0},
    FamilyTraits{Family::fft,         Kind::fourier, no,      no,         yes,      0},
    FamilyTraits{Family::layout,      Kind::map,     yes,     no,         no,       kByOp},
    FamilyTraits{Family::reduce,      Kind::reduce,  no,      no,         no,       1},
    FamilyTraits{Family::argreduce,   Kind::reduce,  no,      no,         no,       3},
    FamilyTraits{Family::sort,        Kind::sort,    no,      no,         no,       0},
    FamilyTraits{Family::cumulative,  Kind::cumulative, no,   no,         yes,      0},
    FamilyTraits{Family::dot,         Kind::dot,     no,      no,         no,       0},
    FamilyTraits{Family::convolution, Kind::convolution, no,  no,         no,       0},
    FamilyTraits{Family::factor,      Kind::factor,  no,      no,         yes,      0},
    FamilyTraits{Family::gather,      Kind::map,     yes,     no,         no,       10},
    FamilyTraits{Family::scatter,     Kind::scatter, no,      no,         yes,      200},  // 0.21 Gidx/s
    FamilyTraits{Family::random,      Kind::map,     yes,     no,         no,       56},   // 0.85 Gelem/s
    FamilyTraits{Family::control,     Kind::scan,    no,      no,         yes,      0},
    FamilyTraits{Family::call,        Kind::map,     no,      no,         no,       0},
    FamilyTraits{Family::host,        Kind::host,    no,      no,         no,       0},
    FamilyTraits{Family::collective,  Kind::host,    no,      no,         no,       0},
};
// clang-format on

constexpr bool in_order() {
  for (size_t i = 0; i < kFamilies.size(); ++i) {
    if (kFamilies[i].family != static_cast<Family>(i)) return false;
  }
  return kFamilies.back().family == Family::collective;
}
static_assert(in_order());

}  // namespace

const FamilyTraits& traits(Family family) { return kFamilies[static_cast<size_t>(family)]; }

}  // namespace neap::planner
