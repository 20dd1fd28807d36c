// From a row of the op table to its element expression.
#include <algorithm>
#include <array>
#include <vector>

#include "core/check.h"
#include "trace/graph/op_table.h"
#include "trace/scalar/scalar_eval.h"
#include "trace/scalar/scalar_math.h"

namespace neap::scalar {
namespace {

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

// Ops that move values or ask for a type's own neighbours: their halves stay as they are.
bool keeps_halves(tracing::Op op) {
  return op == tracing::Op::select || op == tracing::Op::nextafter || op == tracing::Op::stop_gradient;
}

// Returns the expression in the `kernel` column.
X kernel(tracing::Op op, std::span<const X> operands) {
  switch (op) {
#define NEAP_UNARY(name, types, dx, kernel, ...) \
  case tracing::Op::name: {                      \
    const X x = operands[0];                     \
    return kernel;                               \
  }
#define NEAP_BINARY(name, types, dx, dy, kernel, ...) \
  case tracing::Op::name: {                           \
    const X x = operands[0], y = operands[1];         \
    return kernel;                                    \
  }
#define NEAP_TERNARY(name, types, dx, dy, dz, kernel, ...)     \
  case tracing::Op::name: {                                    \
    const X x = operands[0], y = operands[1], z = operands[2]; \
    return kernel;                                             \
  }
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY
    default: break;
  }
  NEAP_CHECK(false, "{} has no element expression", tracing::name(op));
  __builtin_unreachable();
}

// Estimates one instruction, in vector instructions of f32 (add = 1): these are rough ratios of throughput, to which
// planner/kernels/cost.h fits the time of one; `neap-cost` prints predicted beside measured time by kernel.
double cost_of(const Inst& inst, DType from) {
  const double wide = size_of(inst.type) == 8 || size_of(from) == 8 ? 2 : 1;  // half as many lanes
  const bool real = is_float(inst.type);
  switch (inst.op) {
    case Opcode::constant:
    case Opcode::bitcast: return 0;
    case Opcode::div: return wide * (real ? 5 : 20);
    case Opcode::rem: return wide * 20;
    case Opcode::sqrt: return wide * 8;
    case Opcode::call: return inst.c >= 0 ? wide : 150;  // rare, or lane by lane
    default: return wide;
  }
}

double measure(tracing::Op op, DType type) {
  Dag dag;
  std::vector<X> operands;
  const X index = dag.index(1, DType::i64);
  DType operand_type = type;
  if (!tracing::is_elementwise(op)) return 1;
  const tracing::OpInfo& info = tracing::op_info(op);
  if (info.types == tracing::TypeRule::predicate || info.types == tracing::TypeRule::compare) {
    if (operand_type == DType::bool_) operand_type = DType::f32;  // the result says nothing of the operands
  }
  for (int i = 0; i < info.arity; ++i) {
    const bool condition = info.types == tracing::TypeRule::select && i == 0;
    operands.push_back(dag.load(i, condition ? DType::bool_ : operand_type, index));
  }
  const X result = apply_op(op, operands, tracing::result_dtype(info.types, operand_type));
  const std::vector<bool> need = needed(dag, std::array{result.id});
  double cost = 0;
  for (int32_t id = 0; id < dag.size(); ++id) {
    const Inst& inst = dag[id];
    if (!need[id] || inst.op == Opcode::load || inst.op == Opcode::index) continue;
    cost += cost_of(inst, inst.a < 0 ? inst.type : dag[inst.a].type);
  }
  return std::max(cost, 0.0);
}

}  // namespace

X apply_op(tracing::Op op, std::span<const X> operands, DType type) {
  const X x = operands[0];
  if (op == tracing::Op::convert) return x.dag->convert(x, type);
  if (op == tracing::Op::bitcast) return x.dag->bitcast(x, type);
  NEAP_CHECK(static_cast<int>(operands.size()) == tracing::op_info(op).arity, "{} of {} operands", tracing::name(op),
             operands.size());
  std::array<X, 3> wide;
  std::copy(operands.begin(), operands.end(), wide.begin());
  if (!keeps_halves(op)) {
    for (X& w : wide) {
      if (w.id >= 0 && is_half(w.type())) w = w.dag->convert(w, DType::f32);
    }
  }
  const X result = kernel(op, std::span(wide).first(operands.size()));
  // A half result was computed in f32; everything else has its type already.
  const X rounded = is_half(type) ? result.dag->convert(result, type) : result;
  NEAP_CHECK(rounded.type() == type, "{} gives {}, wanted {}", tracing::name(op), name(rounded.type()), name(type));
  return rounded;
}

double op_cost(tracing::Op op, DType type) {
  static constexpr int kOps = tracing::kOpCount;
  static const std::vector<double>& table = *new std::vector<double>([] {
    std::vector<double> costs(static_cast<size_t>(kOps) * kDTypeCount, 1.0);
    for (tracing::Op each : tracing::elementwise_ops()) {
      for (int t = 0; t < kDTypeCount; ++t) {
        const auto type = static_cast<DType>(t);
        if (!tracing::accepts(tracing::op_info(each).types, type)) continue;
        costs[static_cast<size_t>(each) * kDTypeCount + t] = measure(each, type);
      }
    }
    return costs;
  }());
  return table[static_cast<size_t>(op) * kDTypeCount + static_cast<size_t>(type)];
}

}  // namespace neap::scalar
