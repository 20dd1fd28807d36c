// The op table: what is known of an op before its operands are. It has one row for each Op, in the order of the
// enumeration.
//
// Code that needs every elementwise row at compile time defines NEAP_UNARY / NEAP_BINARY / NEAP_TERNARY and includes
// <neap/ops.def>; code that walks rows at run time uses elementwise_ops(). tests/trace/op_table_test.cpp fails on a row
// without a rule or documentation.
#pragma once

#include <neap/dtype.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "trace/graph/graph.h"

namespace neap::tracing {

/// A Family gives an op its rules of shape, batching and differentiation.
enum class Family : uint8_t {
  elementwise,  // rows of <neap/ops.def>: equal shapes in, the same shape out
  leaf,         // constant, iota
  convert,      // convert, bitcast: elementwise, to the dtype of an attribute
  complex,      // complex numbers and their parts, element by element
  fft,
  layout,  // elements move, none is computed
  reduce,
  argreduce,
  sort,
  cumulative,  // running sums and their kin along an axis
  dot,
  convolution,
  factor,  // dense factorizations of matrices: the last two axes
  gather,
  scatter,
  random,
  control,
  call,  // custom_jvp, custom_vjp, linear_call, linear_solve: functions with a derivative of their own; planned as
         // their bodies
  host,  // host_call: a function of the program that runs the graph
  collective,  // between the ranks of a mesh
};

/// A TypeRule says which dtypes an elementwise op takes and gives.
enum class TypeRule : uint8_t {
  numeric,     // T... -> T, T a float or an integer (or complex: OpInfo::complex)
  floating,    // T... -> T, T a float
  integral,    // T... -> T, T an integer or bool
  predicate,   // T -> bool, T a float
  compare,     // T, T -> bool, T any dtype
  select,      // bool, T, T -> T, T any dtype
  any,         // T -> T, T any dtype
  structural,  // not elementwise: see trace/graph/infer.cpp
};

struct OpInfo {
  Op op;
  std::string_view name;
  int arity;  // -1: variable
  Family family;
  TypeRule types;
  bool complex;                              // whether it takes operands of complex dtypes
  std::span<const Attr> required, optional;  // attributes that a node must have, and that it may have as well
  std::string_view doc;
};

inline constexpr int kOpCount = static_cast<int>(Op::count_);

const OpInfo& op_info(Op op);
/// Returns the op of this name; nullopt when there is none.
std::optional<Op> find_op(std::string_view name);
/// Returns all rows.
std::span<const OpInfo> op_table();
/// Returns the ops of family elementwise, in the order of <neap/ops.def>.
std::span<const Op> elementwise_ops();
/// Returns whether the op is a loop over a body with carries.
inline bool is_loop(Op op) { return op == Op::scan || op == Op::while_loop; }
inline bool is_elementwise(Op op) { return op_info(op).family == Family::elementwise; }
inline std::string_view name(Op op) { return op_info(op).name; }

std::string_view name(Family family);
std::string_view name(TypeRule rule);

/// Returns whether an op of this rule takes operands of the real dtype `t` (for select: as its second and third
/// operand).
bool accepts(TypeRule rule, DType t);
/// Returns the dtype that an op of this rule gives for operands of dtype `t` (for select: of its second and third
/// operand).
DType result_dtype(TypeRule rule, DType t);

/// Returns whether a node of the op may have the attribute: those of its row, and copy, marks, region and saveable,
/// which every op may have.
bool allows_attr(Op op, Attr attr);

}  // namespace neap::tracing
