// The planner knows some things of an op by its family: one row each. What depends on an op's attributes and operands
// as well is asked elsewhere: how a slice of a result is made of slices of operands (planner/slice/split_axis.h), what
// one step may write over (planner/fuse/in_place.h). Tested in tests/planner/families_test.cpp.
#pragma once

#include "planner/plan/plan.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

struct FamilyTraits {
  tracing::Family family;
  PlanStep::Kind kind;  // of the step that stores its values
  bool fusible;         // kernels compute it inside a loop, so that its value need not be stored
  bool same_index;      // an element of its result reads the operands at its own index only
  bool in_place;        // its result may lie over an operand that nothing reads later
  double cost;          // of one element of the result, of a reduction or scatter of one of the operand: in units of
                        // planner/kernels/cost.h; kByOp: that depends on the op
};
inline constexpr double kByOp = -1;

const FamilyTraits& traits(tracing::Family family);
inline const FamilyTraits& traits(tracing::Op op) { return traits(tracing::op_info(op).family); }

}  // namespace neap::planner
