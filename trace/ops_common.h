// What the functions on arrays share: promotion and broadcasting of operands.
#pragma once

#include <neap/ops.h>

#include <array>
#include <span>

#include "trace/op_table.h"
#include "trace/tracing.h"

namespace neap::trace {

/// The dtype that operands promote to: JAX's lattice over the arrays, then the weakest kind of the scalars.
DType common_dtype(std::span<const Operand* const> operands);
/// The shape that operands broadcast to.
Shape common_shape(std::string_view op, std::span<const Operand* const> operands);
/// The operand converted and broadcast.
Array fit(const Operand& x, const Shape& shape, DType dtype);
/// An elementwise op on operands of any shape and dtype.
Array elementwise(Op op, std::span<const Operand* const> operands);

}  // namespace neap::trace
