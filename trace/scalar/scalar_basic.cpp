// Arithmetic, comparison and bits: the part of the vocabulary that is exact or one rounding.
#include <cmath>

#include "core/check.h"
#include "trace/scalar/scalar_math.h"

namespace neap::scalar {

X operator+(X a, X b) { return a.dag->binary(Opcode::add, a, b); }
X operator-(X a, X b) { return a.dag->binary(Opcode::sub, a, b); }
X operator*(X a, X b) { return a.dag->binary(Opcode::mul, a, b); }
X operator/(X a, X b) {
  NEAP_CHECK(is_float(a.type()));
  return a.dag->binary(Opcode::div, a, b);
}
X operator-(X a) {
  if (is_unsigned(a.type())) return m::c(a, 0) - a;
  return a.dag->unary(Opcode::neg, a);
}
X operator&(X a, X b) { return a.dag->binary(Opcode::bit_and, a, b); }
X operator|(X a, X b) { return a.dag->binary(Opcode::bit_or, a, b); }
X operator^(X a, X b) { return a.dag->binary(Opcode::bit_xor, a, b); }

namespace m {
namespace {

int width(X x) { return x.type() == DType::bool_ ? 1 : static_cast<int>(8 * size_of(x.type())); }
bool is_bool(X x) { return x.type() == DType::bool_; }

DType unsigned_of(DType t) {
  switch (size_of(t)) {
    case 1: return DType::u8;
    case 2: return DType::u16;
    case 4: return DType::u32;
    default: return DType::u64;
  }
}

// A divisor by which no quotient traps: 1 instead of 0, and instead of -1 under the lowest integer.
X safe_divisor(X x, X y) {
  X bad = eq(y, c(y, 0));
  if (is_signed(x.type())) {
    const X lowest = bits(x, uint64_t{1} << (width(x) - 1));
    bad = bad | (eq(x, lowest) & eq(y, c(y, -1)));
  }
  return select(bad, c(y, 1), y);
}

}  // namespace

X c(X x, double value) { return x.dag->constant(value, x.type()); }
X bits(X x, uint64_t value) { return x.dag->constant_bits(value, x.type()); }
X convert(X x, DType type) { return x.dag->convert(x, type); }
X bitcast(X x, DType type) { return x.dag->bitcast(x, type); }
X fma(X a, X b, X c) { return a.dag->fma(a, b, c); }
X fma_once(X a, X b, X c) { return a.dag->fma(a, b, c, /*once=*/true); }
X fma(X a, double b, X c) { return fma(a, m::c(a, b), c); }
X fma(X a, X b, double c) { return fma(a, b, m::c(a, c)); }
X fma(X a, double b, double c) {
  const X factor = m::c(a, b);  // before c: the order of instructions is part of a kernel's name
  return fma(a, factor, m::c(a, c));
}

X polynomial(X x, std::initializer_list<double> coefficients) {
  const double* next = coefficients.end();
  X p = c(x, *--next);
  while (next != coefficients.begin()) p = fma(p, x, *--next);
  return p;
}

X in_pairs(X x, std::initializer_list<double> coefficients) {
  const X square = x * x;
  const double* next = coefficients.end();
  const bool odd = coefficients.size() % 2 == 1;
  X sum = odd ? c(x, next[-1]) : fma(x, next[-1], next[-2]);
  for (next -= odd ? 1 : 2; next != coefficients.begin(); next -= 2) sum = fma(sum, square, fma(x, next[-1], next[-2]));
  return sum;
}

X eq(X a, X b) { return is_bool(a) ? bit_not(a ^ b) : a.dag->binary(Opcode::eq, a, b); }
X ne(X a, X b) { return is_bool(a) ? a ^ b : a.dag->binary(Opcode::ne, a, b); }
X lt(X a, X b) { return is_bool(a) ? bit_not(a) & b : a.dag->binary(Opcode::lt, a, b); }
X le(X a, X b) { return is_bool(a) ? bit_not(a) | b : a.dag->binary(Opcode::le, a, b); }
X lt(X a, double b) { return lt(a, c(a, b)); }
X select(X condition, X a, X b) { return condition.dag->select(condition, a, b); }

X abs(X x) { return is_unsigned(x.type()) ? x : x.dag->unary(Opcode::abs, x); }

X sign(X x) {
  const X zero = c(x, 0), positive = select(lt(zero, x), c(x, 1), x);  // x: 0 with its sign, or NaN
  return is_unsigned(x.type()) ? positive : select(lt(x, zero), c(x, -1), positive);
}

X divide(X x, X y) {
  if (is_float(x.type())) return x / y;
  const X quotient = x.dag->binary(Opcode::div, x, safe_divisor(x, y));
  return select(eq(y, c(y, 0)), bits(x, ~uint64_t{0}), quotient);
}

X rem(X x, X y) {
  if (is_float(x.type())) return through_f64(Function::fmod, x, y);  // exact in f32: a multiple of both ulps
  const X remainder = x.dag->binary(Opcode::rem, x, safe_divisor(x, y));
  return select(eq(y, c(y, 0)), x, remainder);
}

// The inner select is the max instruction of x86 and of GLSL; the outer one goes when y is a constant.
X maximum(X x, X y) { return select(ne(y, y), y, select(lt(x, y), y, x)); }
X minimum(X x, X y) { return select(ne(y, y), y, select(lt(y, x), y, x)); }

X bit_not(X x) { return x.dag->unary(Opcode::bit_not, x); }
X bit_and(X x, X y) { return x & y; }
X bit_or(X x, X y) { return x | y; }
X bit_xor(X x, X y) { return x ^ y; }

// A shift count is taken as unsigned, so that a negative one is not below the width.
X shift_left(X x, X y) {
  if (is_bool(x)) return x & bit_not(y);
  const X count = convert(y, unsigned_of(y.type()));
  const X inside = lt(count, c(count, width(x)));
  return select(inside, x.dag->binary(Opcode::shl, x, select(inside, y, c(y, 0))), c(x, 0));
}

X shift_right(X x, X y) {
  if (is_bool(x)) return x & bit_not(y);
  const X count = convert(y, unsigned_of(y.type()));
  const X inside = lt(count, c(count, width(x)));
  if (is_signed(x.type())) return x.dag->binary(Opcode::shr, x, select(inside, y, c(y, width(x) - 1)));
  return select(inside, x.dag->binary(Opcode::shr, x, select(inside, y, c(y, 0))), c(x, 0));
}

X shl(X x, int count) { return x.dag->binary(Opcode::shl, x, c(x, count)); }
X shr(X x, int count) { return x.dag->binary(Opcode::shr, x, c(x, count)); }
X popcount(X x) { return is_bool(x) ? x : x.dag->unary(Opcode::popcount, x); }
X clz(X x) { return is_bool(x) ? bit_not(x) : x.dag->unary(Opcode::clz, x); }

X floor(X x) { return x.dag->unary(Opcode::floor, x); }
X ceil(X x) { return x.dag->unary(Opcode::ceil, x); }
X trunc(X x) { return x.dag->unary(Opcode::trunc, x); }
X rint(X x) { return x.dag->unary(Opcode::rint, x); }
X sqrt(X x) { return x.dag->unary(Opcode::sqrt, x); }

X isinf(X x) { return eq(abs(x), c(x, HUGE_VAL)); }
X isfinite(X x) { return lt(abs(x), c(x, HUGE_VAL)); }

X copysign(X x, X y) {
  const DType u = unsigned_of(x.type());
  const X sign = bits(bitcast(x, u), uint64_t{1} << (width(x) - 1));
  return bitcast((bitcast(x, u) & bit_not(sign)) | (bitcast(y, u) & sign), x.type());
}

// Neighbours of the same sign differ by one as integers.
X nextafter(X x, X y) {
  const DType t = x.type();
  const X p = bitcast(x, unsigned_of(t)), q = bitcast(y, unsigned_of(t));
  const X sign = bits(p, uint64_t{1} << (width(x) - 1)), one = c(p, 1);
  const X magnitude = p & bit_not(sign);
  const DType wide = t == DType::f64 ? t : DType::f32;
  const X a = convert(x, wide), b = convert(y, wide);
  const X from_zero = (q & sign) | one;
  const X outwards = eq(lt(a, b), eq(p & sign, c(p, 0)));
  const X moved = select(eq(magnitude, c(p, 0)), from_zero, select(outwards, p + one, p - one));
  const X result = bitcast(select(eq(a, b), q, moved), t);
  return select(ne(a, a), x, select(ne(b, b), y, result));
}

X through_f64(Function function, X x, X y) {
  if (y.id >= 0) y = convert(y, DType::f64);
  return convert(x.dag->call(function, convert(x, DType::f64), y), x.type());
}

}  // namespace m
}  // namespace neap::scalar
