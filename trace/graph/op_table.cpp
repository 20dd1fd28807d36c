#include "trace/graph/op_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/check.h"

namespace neap::tracing {
namespace {

constexpr std::array<OpInfo, kOpCount> kTable = {{
#define NEAP_UNARY(name, types, dx, kernel, reference, doc) \
  {Op::name, #name, 1, Family::elementwise, TypeRule::types, doc},
#define NEAP_BINARY(name, types, dx, dy, kernel, reference, doc) \
  {Op::name, #name, 2, Family::elementwise, TypeRule::types, doc},
#define NEAP_TERNARY(name, types, dx, dy, dz, kernel, reference, doc) \
  {Op::name, #name, 3, Family::elementwise, TypeRule::types, doc},
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY
#define NEAP_STRUCTURAL(name, family, arity, doc) {Op::name, #name, arity, Family::family, TypeRule::structural, doc},
#include "trace/graph/ops_structural.def"
#undef NEAP_STRUCTURAL
}};

constexpr int kElementwiseCount = static_cast<int>(
    std::ranges::count_if(kTable, [](const OpInfo& row) { return row.family == Family::elementwise; }));

constexpr std::array<Op, kElementwiseCount> kElementwise = [] {
  std::array<Op, kElementwiseCount> ops{};
  for (int i = 0, n = 0; i < kOpCount; ++i) {
    if (kTable[i].family == Family::elementwise) ops[n++] = kTable[i].op;
  }
  return ops;
}();

}  // namespace

const OpInfo& op_info(Op op) {
  NEAP_CHECK(op < Op::count_, "op {}", static_cast<int>(op));
  return kTable[static_cast<int>(op)];
}

std::optional<Op> find_op(std::string_view name) {
  const auto row = std::ranges::find(kTable, name, &OpInfo::name);
  if (row == kTable.end()) return std::nullopt;
  return row->op;
}

std::span<const OpInfo> op_table() { return kTable; }
std::span<const Op> elementwise_ops() { return kElementwise; }

std::string_view name(Family family) {
  constexpr std::string_view kNames[] = {"elementwise", "leaf",      "convert", "complex", "fft",    "layout",
                                         "reduce",      "argreduce", "sort",    "dot",     "factor", "gather",
                                         "scatter",     "random",    "control", "call"};
  return kNames[static_cast<int>(family)];
}

std::string_view name(TypeRule rule) {
  constexpr std::string_view kNames[] = {"numeric", "floating", "integral", "predicate",
                                         "compare", "select",   "any",      "structural"};
  return kNames[static_cast<int>(rule)];
}

bool accepts(TypeRule rule, DType t) {
  switch (rule) {
    case TypeRule::numeric: return t != DType::bool_ && !is_complex(t);
    case TypeRule::floating:
    case TypeRule::predicate: return is_float(t);
    case TypeRule::integral: return !is_inexact(t);
    case TypeRule::compare:
    case TypeRule::select:
    case TypeRule::any: return !is_complex(t);
    case TypeRule::structural: return false;
  }
  return false;
}

bool takes_complex(Op op) {
  switch (op_info(op).family) {
    case Family::complex:
    case Family::fft:
    case Family::layout:
    case Family::dot:
    case Family::gather:
    case Family::control:
    case Family::call: return true;
    default: break;
  }
  switch (op) {
    case Op::negative:
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::square:
    case Op::reciprocal:
    case Op::exp:
    case Op::expm1:
    case Op::log:
    case Op::log1p:
    case Op::sqrt:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::select:
    case Op::stop_gradient:
    case Op::constant:
    case Op::convert:
    case Op::reduce_sum:
    case Op::scatter_set:
    case Op::scatter_add: return true;
    default: return false;
  }
}

DType result_dtype(TypeRule rule, DType t) {
  return rule == TypeRule::predicate || rule == TypeRule::compare ? DType::bool_ : t;
}

std::span<const Attr> required_attrs(Op op) {
  using enum Attr;
  static constexpr Attr kConstant[] = {value, dtype, shape};
  static constexpr Attr kIota[] = {dtype, shape, axis};
  static constexpr Attr kDtype[] = {dtype};
  static constexpr Attr kBroadcast[] = {shape, axes};
  static constexpr Attr kShape[] = {shape};
  static constexpr Attr kTranspose[] = {permutation};
  static constexpr Attr kSlice[] = {start, limit, stride};
  static constexpr Attr kPad[] = {low, high, interior};
  static constexpr Attr kAxis[] = {axis};
  static constexpr Attr kAxes[] = {axes};
  static constexpr Attr kFft[] = {axis, reverse};
  static constexpr Attr kSort[] = {axis, descending};
  static constexpr Attr kDot[] = {lhs_batch, rhs_batch, lhs_contract, rhs_contract};
  static constexpr Attr kTriangular[] = {lower, transposed, unit};
  static constexpr Attr kFull[] = {full};
  static constexpr Attr kVectors[] = {vectors};
  static constexpr Attr kSvd[] = {full, vectors};
  static constexpr Attr kIndexed[] = {axes, mode};
  static constexpr Attr kBits[] = {shape, dtype};
  static constexpr Attr kCustomJvp[] = {body, num_consts};
  static constexpr Attr kCustomVjp[] = {body, num_consts};
  static constexpr Attr kLinearCall[] = {backward, num_consts};
  static constexpr Attr kScan[] = {body, length, num_consts, num_carry, reverse};
  static constexpr Attr kWhile[] = {body, num_consts, num_carry};
  static constexpr Attr kCond[] = {body, otherwise};
  switch (op) {
    case Op::constant: return kConstant;
    case Op::iota: return kIota;
    case Op::convert:
    case Op::bitcast: return kDtype;
    case Op::broadcast_in_dim: return kBroadcast;
    case Op::reshape:
    case Op::dynamic_slice:
    case Op::random_split: return kShape;
    case Op::transpose: return kTranspose;
    case Op::slice: return kSlice;
    case Op::pad: return kPad;
    case Op::concatenate:
    case Op::argmax:
    case Op::argmin: return kAxis;
    case Op::reverse:
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_any:
    case Op::reduce_all: return kAxes;
    case Op::fft: return kFft;
    case Op::sort:
    case Op::argsort: return kSort;
    case Op::dot_general: return kDot;
    case Op::triangular_solve: return kTriangular;
    case Op::qr: return kFull;
    case Op::eigh: return kVectors;
    case Op::svd: return kSvd;
    case Op::gather:
    case Op::scatter_set:
    case Op::scatter_add:
    case Op::scatter_mul:
    case Op::scatter_min:
    case Op::scatter_max: return kIndexed;
    case Op::random_bits: return kBits;
    case Op::scan: return kScan;
    case Op::while_loop: return kWhile;
    case Op::cond: return kCond;
    case Op::custom_jvp: return kCustomJvp;
    case Op::custom_vjp: return kCustomVjp;
    case Op::linear_call: return kLinearCall;
    default: return {};
  }
}

bool allows_attr(Op op, Attr attr) {
  switch (attr) {
    case Attr::copy:
    case Attr::marks:
    case Attr::region:
    case Attr::saveable: return true;
    case Attr::full_shape:
      return op == Op::random_bits || op == Op::reduce_sum || op == Op::reduce_prod || op == Op::dot_general ||
             op == Op::scatter_add;
    case Attr::label: return op == Op::reshape;
    case Attr::length: return op == Op::scan || op == Op::while_loop;
    case Attr::derivative: return op == Op::custom_jvp;
    case Attr::forward:
    case Attr::backward:
      if (op == Op::custom_vjp) return true;
      break;
    default: break;
  }
  return std::ranges::find(required_attrs(op), attr) != required_attrs(op).end();
}

}  // namespace neap::tracing
