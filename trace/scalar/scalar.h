// The scalar language: expressions of one element, shared by every backend.
//
// A Dag holds instructions in the order they were made; an operand is always an earlier instruction. Instructions are
// hash-consed (the same expression is made once) and constants are folded with the arithmetic of the instruction's
// type. Element-wise ops (the `kernel` column of include/neap/ops.def) are written in it, through the handle X and the
// functions of namespace m (trace/scalar/scalar_math.h); backends emit only the opcodes below, so an op is written
// once.
//
// Types are DTypes; bool is one bit. Halves are storage types: instructions on f16 / bf16 are only load, convert,
// bitcast, select and constant; apply_op computes them in f32 and rounds after each op, so that a fused kernel has the
// bits of the op-by-op one. Nothing contracts a * b + c: fma is an opcode of its own.
#pragma once

#include <neap/dtype.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::scalar {

enum class Opcode : uint8_t {
  constant,  // imm: the bits of the value, zero extended
  index,     // imm: loop level (0 outer or kept, 1 inner or reduced); type i64, or u32 / i32 when the range is known to
             // fit
  param,     // imm: number of a run-time i64 parameter of the kernel
  load,      // imm: buffer number; a: element index (u32, i32 or i64)
  add,
  sub,
  mul,
  div,
  rem,    // integers wrap; div and rem truncate, operands are never such that they trap
  mulhi,  // u32: high word of the 64-bit product
  neg,
  abs,
  sqrt,
  floor,
  ceil,
  trunc,
  rint,
  fma,  // floats (neg, abs: also signed integers); imm 1: rounds once on every device, whatever the third operand is
  lt,
  le,
  eq,
  ne,      // to bool; signed, unsigned or ordered float compare (ne: unordered or unequal)
  select,  // a: bool, b, c
  bit_and,
  bit_or,
  bit_xor,
  bit_not,  // integers and bool
  shl,
  shr,   // b below the width; shr is arithmetic for signed types
  rotl,  // imm: count; u32
  popcount,
  clz,
  convert,  // C conversion with our rules: floats to integers truncate and saturate, NaN is 0; to bool != 0
  bitcast,
  call,  // imm: Function of a and b, f64, from the C library; c: where this does not hold, the result is never selected
};

/// Function lists the C library functions reachable by Opcode::call, all on f64; some take a second operand (arity()).
enum class Function : uint8_t {
  sin,
  cos,
  tan,
  lgamma,
  digamma,
  fmod,
  nextafter,
};
const char* symbol(Function);  // the C symbol, resolved by the JIT ("sin", "neap_lgamma", ...)
int arity(Function);

struct Inst {
  Opcode op;
  DType type;
  int32_t a = -1, b = -1, c = -1;
  uint64_t imm = 0;
  bool operator==(const Inst&) const = default;
};

class Dag;

/// X is a handle of one instruction; arithmetic on it appends to its Dag.
struct X {
  Dag* dag = nullptr;
  int32_t id = -1;
  DType type() const;
};

class Dag {
 public:
  const Inst& operator[](int32_t id) const { return insts_[id]; }
  int32_t size() const { return static_cast<int32_t>(insts_.size()); }

  X constant(double value, DType type);  // rounded to type
  X constant_bits(uint64_t bits, DType type);
  X integer(int64_t value, DType type);  // exact for 64-bit integers
  X index(int level, DType type);
  X param(int number);
  X load(int buffer, DType type, X index);
  X unary(Opcode op, X a);
  X binary(Opcode op, X a, X b);
  X select(X condition, X a, X b);
  X fma(X a, X b, X c, bool once = false);
  X rotl(X a, int count);
  X convert(X a, DType type);
  X bitcast(X a, DType type);
  X call(Function function, X a, X b = {}, X where = {});
  /// Makes an instruction of another Dag again, on these operands.
  X again(const Inst& inst, X a, X b, X c);

  /// Returns whether `x` is a constant; the next two return its value.
  bool is_constant(X x) const { return insts_[x.id].op == Opcode::constant; }
  double constant_value(X x) const;
  int64_t constant_integer(X x) const;

  /// Writes one line an instruction, for NEAP_DUMP and tests.
  std::string print() const;

 private:
  X push(Inst inst);  // hash-cons and fold
  std::vector<Inst> insts_;
  std::unordered_multimap<size_t, int32_t> known_;
};

/// Returns the element expression of an elementwise op (also convert and bitcast) on element expressions of its
/// operands. `type` is the op's output dtype. Halves are converted: operands to f32, the result back, rounded.
X apply_op(tracing::Op op, std::span<const X> operands, DType type);

/// Estimates the cost of evaluating an op once, in units of about one vector instruction: it counts the instructions of
/// its element expression (an f32 add is 1).
double op_cost(tracing::Op op, DType type);

/// Returns the two words of threefry2x32-20 with key (k0, k1) at counter (c0, c1), all u32. Source: Salmon et al., SC
/// 2011.
std::pair<X, X> threefry2x32(X k0, X k1, X c0, X c1);
/// Returns the four words of philox4x32-10 with this key at this counter, all u32. Source: the same.
std::array<X, 4> philox4x32(std::array<X, 2> key, std::array<X, 4> counter);

}  // namespace neap::scalar
