// Elementwise functions and operators: promotion, broadcasting, then one node.
#include <fmt/format.h>
#include <neap/creation.h>
#include <neap/ops.h>

#include <cmath>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace tracing {

DType common_dtype(std::span<const Operand* const> operands) {
  std::optional<DType> dtype;
  std::optional<WeakKind> weak;
  for (const Operand* x : operands) {
    if (x->is_scalar())
      weak = std::max(weak.value_or(x->kind()), x->kind());
    else
      dtype = dtype ? promote(*dtype, x->dtype()) : x->dtype();
  }
  if (!dtype) return default_dtype(*weak);
  return weak ? promote_weak(*dtype, *weak) : *dtype;
}

Shape common_shape(std::string_view op, std::span<const Operand* const> operands) {
  Shape shape;
  for (const Operand* x : operands) {
    const auto joined = broadcast_shapes(shape, x->shape());
    if (!joined)
      throw_user<ShapeError>(op, "shapes " + to_string(shape) + " and " + to_string(x->shape()) + " do not broadcast",
                             "axes, aligned at the last, that are equal or 1",
                             "insert axes with x[{slice(), newaxis}] or reshape", user_line(operands[0]->loc()));
    shape = *joined;
  }
  return shape;
}

Array fit(const Operand& x, const Shape& shape, DType dtype) {
  Array a = x.as(dtype);
  return a.shape() == shape ? a : broadcast_to(Operand(a, x.loc()), shape);
}

Array elementwise(Op op, std::span<const Operand* const> operands) {
  const std::source_location loc = operands[0]->loc();
  const AtLine line(loc);
  const TypeRule rule = op_info(op).types;
  const bool select = rule == TypeRule::select;
  DType dtype = common_dtype(select ? operands.subspan(1) : operands);
  if (rule == TypeRule::floating || rule == TypeRule::predicate) dtype = to_float_dtype(dtype);
  if (rule == TypeRule::numeric && dtype == DType::bool_) {
    // JAX: sums and maxima of bools are or, products and minima and; the rest is done in i32.
    if (op == Op::add || op == Op::maximum)
      op = Op::bitwise_or;
    else if (op == Op::multiply || op == Op::minimum)
      op = Op::bitwise_and;
    else
      dtype = DType::i32;
  }
  const Shape shape = common_shape(name(op), operands);
  const auto dtype_of_operand = [&](size_t i) { return select && i == 0 ? operands[i]->dtype() : dtype; };
  // Scalars become arrays without axes, so that outside a trace one executable serves all their values.
  Arrays inputs;
  for (size_t i = 0; i < operands.size(); ++i)
    inputs.push_back(operands[i]->is_scalar() ? operands[i]->as(dtype_of_operand(i)) : operands[i]->array());
  return composite(fmt::format("{} {}", name(op), neap::name(dtype)), inputs, [&](const Arrays& in) {
    Arrays fitted;
    for (size_t i = 0; i < in.size(); ++i) fitted.push_back(fit(Operand(in[i], loc), shape, dtype_of_operand(i)));
    return is_complex(dtype) ? apply_complex(op, fitted, loc) : apply(op, fitted, {}, loc);
  });
}

}  // namespace tracing

namespace {
template <class... T>
Array elementwise_of(Op op, const T&... x) {
  const std::array<const Operand*, sizeof...(T)> operands{&x...};
  return elementwise(op, operands);
}
bool is_integral(const Operand& x) { return x.is_scalar() ? x.kind() < WeakKind::floating : !is_inexact(x.dtype()); }
}  // namespace

#define NEAP_UNARY(name, ...) \
  Array name(const Operand& x) { return elementwise_of(Op::name, x); }
#define NEAP_BINARY(name, ...) \
  Array name(const Operand& x, const Operand& y) { return elementwise_of(Op::name, x, y); }
#define NEAP_TERNARY(name, ...) \
  Array name(const Operand& x, const Operand& y, const Operand& z) { return elementwise_of(Op::name, x, y, z); }
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY

Array operator-(const Operand& x) { return negative(x); }
Array operator~(const Operand& x) { return bitwise_not(x); }
Array operator!(const Operand& x) { return logical_not(x); }
Array operator+(const Operand& x, const Operand& y) { return add(x, y); }
Array operator-(const Operand& x, const Operand& y) { return subtract(x, y); }
Array operator*(const Operand& x, const Operand& y) { return multiply(x, y); }
Array operator%(const Operand& x, const Operand& y) { return mod(x, y); }
Array operator&(const Operand& x, const Operand& y) { return bitwise_and(x, y); }
Array operator|(const Operand& x, const Operand& y) { return bitwise_or(x, y); }
Array operator^(const Operand& x, const Operand& y) { return bitwise_xor(x, y); }
Array operator&&(const Operand& x, const Operand& y) { return logical_and(x, y); }
Array operator||(const Operand& x, const Operand& y) { return logical_or(x, y); }
Array operator<<(const Operand& x, const Operand& y) { return shift_left(x, y); }
Array operator>>(const Operand& x, const Operand& y) { return shift_right(x, y); }
Array operator==(const Operand& x, const Operand& y) { return equal(x, y); }
Array operator!=(const Operand& x, const Operand& y) { return not_equal(x, y); }
Array operator<(const Operand& x, const Operand& y) { return less(x, y); }
Array operator<=(const Operand& x, const Operand& y) { return less_equal(x, y); }
Array operator>(const Operand& x, const Operand& y) { return greater(x, y); }
Array operator>=(const Operand& x, const Operand& y) { return greater_equal(x, y); }

Array operator/(const Operand& x, const Operand& y) {
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = to_float_dtype(common_dtype(operands));
  const AtLine line(x.loc());
  return divide(x.as(dtype), y.as(dtype));
}

static Array as_bool(const Operand& x) { return x.dtype() == DType::bool_ ? x.as_array() : convert(x, DType::bool_); }
Array logical_and(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return bitwise_and(as_bool(x), as_bool(y));
}
Array logical_or(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return bitwise_or(as_bool(x), as_bool(y));
}
Array logical_not(const Operand& x) {
  const AtLine line(x.loc());
  return bitwise_not(as_bool(x));
}

Array where(const Operand& condition, const Operand& x, const Operand& y) {
  const AtLine line(condition.loc());
  common_shape("where", std::array{&condition, &x, &y});
  return select(as_bool(condition), x, y);
}
Array clamp(const Operand& x, const Operand& low, const Operand& high) {
  const AtLine line(x.loc());
  common_shape("clamp", std::array{&x, &low, &high});
  return minimum(maximum(x, low), high);
}
Array clip(const Operand& x, const Operand& low, const Operand& high) { return clamp(x, low, high); }

// Returns a scalar in the dtype in which it computes with the other operand: alone, an integer would be an i32.
static Operand beside(const Operand& scalar, DType dtype) {
  return scalar.is_scalar() ? Operand(scalar.as(dtype), scalar.loc()) : scalar;
}

Array mod(const Operand& dividend, const Operand& divisor) {
  const AtLine line(dividend.loc());
  const std::array<const Operand*, 2> operands{&dividend, &divisor};
  const DType dtype = common_dtype(operands);
  const Operand x = beside(dividend, dtype), y = beside(divisor, dtype);
  const Array r = remainder(x, y);
  if (is_unsigned(dtype)) return r;
  const Array wrap = (r != 0) & ((r < 0) != (y < 0)), wrapped = select(wrap, r + y, r);
  if (!is_float(dtype)) return wrapped;
  // A zero has the sign of y, and the derivative of r.
  return select(wrapped == 0, copysign(zeros_like(wrapped), y) - (stop_gradient(wrapped) - wrapped), wrapped);
}

Array floor_divide(const Operand& dividend, const Operand& divisor) {
  const AtLine line(dividend.loc());
  const std::array<const Operand*, 2> operands{&dividend, &divisor};
  const DType dtype = common_dtype(operands);
  const Operand x = beside(dividend, dtype), y = beside(divisor, dtype);
  if (!is_integral(x) || !is_integral(y)) {
    const Array r = remainder(x, y), exact = stop_gradient(x / y), q = copysign(rint((x - r) / y), exact);
    return where((y == 0) | isinf(x), exact, select((r != 0) & ((r < 0) != (y < 0)), q - 1, q));
  }
  const Array q = divide(x, y);
  if (is_unsigned(dtype)) return q;
  const Array inexact = (y != 0) & (remainder(x, y) != 0) & ((x < 0) != (y < 0));
  return select(inexact, q - 1, q);
}

namespace tracing {

// Selects, where maximum would not do: where x and y are equal, each side of select is the whole function of both, so
// that the derivatives of functions of the two parts are right to every order.
std::pair<Array, Array> larger_and_difference(const Operand& x, const Operand& y) {
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = to_float_dtype(common_dtype(operands));
  const Array a = x.as(dtype), b = y.as(dtype), first = a >= b;
  const Array high = select(first, a, b), below = select(first, b, a) - high;
  // Finite as a double is not enough: 1e300 is infinite as an f32. 65504 is finite in every floating dtype.
  const auto finite = [](const Operand& z) { return z.is_scalar() && std::abs(z.real()) <= 65504; };
  if (finite(x) || finite(y)) return {high, below};
  return {high, select((a == b) & isinf(a), zeros_like(below), below)};  // not inf - inf
}

}  // namespace tracing

// By repeated squaring. Of a negative exponent it is 1 / x^-y, truncated, and 0 where x is 0.
static Array integer_power(const Array& x, const Array& y) {
  const DType dtype = x.dtype();
  return composite("integer_power", {x, y}, [&](const Arrays& in) {
    const int bits = static_cast<int>(size_of(dtype)) * 8;
    const Array one = ones_like(in[0]), negative = in[1] < 0;
    Array base = in[0], left = is_unsigned(dtype) ? in[1] : select(negative, -in[1], in[1]), result = one;
    for (int bit = is_unsigned(dtype) ? 0 : 1; bit < bits; ++bit) {
      result = select((left & one) != 0, result * base, result);
      base = square(base), left = shift_right(left, one);
    }
    if (is_unsigned(dtype)) return result;
    const Array unit = (in[0] == 1) | (in[0] == -1);
    return select(negative & !unit, zeros_like(result), result);
  });
}

// Powers of floats by numbers whose powers are products, quotients or roots; the special cases are pow's.
static std::optional<Array> simple_power(const Operand& x, double y) {
  const Array a = x.as(to_float_dtype(x.dtype()));
  if (is_complex(a.dtype())) return std::nullopt;
  if (y == 1 || y == 2 || y == 3 || y == -1) return power(a, static_cast<int64_t>(y));
  if (y != 0.5 && y != -0.5 && y != 1.5) return std::nullopt;
  const Array base = where(a == -HUGE_VAL, HUGE_VAL, a), root = sqrt(base) + 0.0;  // of -0 it is 0
  return y == 0.5 ? root : y == 1.5 ? base * root + 0.0 : reciprocal(root);
}

Array power(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  if (y.is_scalar() && y.kind() == WeakKind::floating && !x.is_scalar()) {
    if (const std::optional<Array> simple = simple_power(x, y.real())) return *simple;
  }
  if (!y.is_scalar() || y.kind() != WeakKind::integer) {
    const std::array<const Operand*, 2> operands{&x, &y};
    const DType dtype = common_dtype(operands);
    if (!is_integer(dtype)) return pow(x, y);
    const Shape shape = common_shape("power", operands);
    return integer_power(fit(x, shape, dtype), fit(y, shape, dtype));
  }
  const auto bits = static_cast<uint64_t>(y.integer());
  const bool negative = y.real() < 0;
  Array base = x.as_array(), result;
  for (uint64_t n = negative ? 0 - bits : bits; n > 0; n >>= 1) {
    if (n & 1) result = result.impl() ? multiply(result, base) : base;
    if (n > 1) base = square(base);
  }
  if (!result.impl()) return ones_like(x);
  return negative ? reciprocal(result) : result;
}

Array logaddexp(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const auto [high, below] = larger_and_difference(x, y);
  return high + log1p(exp(below));
}
Array relu(const Operand& x) {
  const AtLine line(x.loc());
  return select(x <= 0, 0, x);  // NaN stays; the derivative at 0 is 0, where that of maximum(x, 0) is a half
}
Array softplus(const Operand& x) {
  const AtLine line(x.loc());
  return logaddexp(x, 0.0f);
}
Array gelu(const Operand& x) {
  const AtLine line(x.loc());
  const DType dtype = to_float_dtype(x.dtype());
  const Array a = x.as(wide(dtype));  // the tail of a rounded multiple of a half is another one
  return (a * 0.5 * erfc(a * -0.70710678118654752440)).astype(dtype);  // 1 + erf would be 0 from -6 on
}
Array silu(const Operand& x) {
  const AtLine line(x.loc());
  const DType dtype = to_float_dtype(x.dtype());
  const Array a = x.as(wide(dtype));
  return (a * sigmoid(a)).astype(dtype);
}
Array signbit(const Operand& x) {
  const AtLine line(x.loc());
  return copysign(ones_like(x), x) < 0;
}

Array convert(const Operand& x, DType dtype) {
  const bool loses = !x.is_scalar() && is_complex(x.dtype()) && !is_complex(dtype) && dtype != DType::bool_;
  return loses ? Operand(real(x), x.loc()).as(dtype) : x.as(dtype);
}

}  // namespace neap
