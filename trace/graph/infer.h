// Shape and dtype inference in its strict form: elementwise operands must have equal shapes and dtypes (the public
// Array layer broadcasts and promotes before it makes a node). Tested in tests/trace/infer_test.cpp.
#pragma once

#include <neap/shape.h>

#include <source_location>
#include <span>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::tracing {

/// Returns the avals of the op's outputs. Throws ShapeError, DTypeError or IndexError (naming `loc`) where the operands
/// or the attributes do not fit; InternalError where the number of operands is wrong, or an attribute is missing or of
/// another kind.
std::vector<Aval> infer(Op op, std::span<const Aval> operands, const Attrs& attrs, std::source_location loc);

/// Throws InternalError unless `attrs` holds what `op` requires, each of the right kind, and nothing that it ignores.
void check_attrs(Op op, const Attrs& attrs);

}  // namespace neap::tracing
