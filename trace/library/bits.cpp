// Bits of arrays: as another dtype, and floats rounded to fewer of them.
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/transforms.h>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

DType unsigned_of(size_t bytes) {
  return bytes == 1 ? DType::u8 : bytes == 2 ? DType::u16 : bytes == 4 ? DType::u32 : DType::u64;
}
Array same_width(const Array& x, DType dtype) {
  return x.dtype() == dtype ? x : apply(Op::bitcast, {x}, {{Attr::dtype, dtype}}, user_line({}));
}

}  // namespace

Array bitcast(const Operand& x, DType dtype) {
  const Array given = x.as_array();
  const size_t from = size_of(given.dtype()), to = size_of(dtype);
  if (from == to) return apply(Op::bitcast, {given}, {{Attr::dtype, dtype}}, x.loc());
  const AtLine line(x.loc());
  const std::string got = fmt::format("{} to {}", to_string(given.aval()), name(dtype));
  for (const DType each : {given.dtype(), dtype})
    if (each == DType::bool_ || is_complex(each))
      throw_user<DTypeError>("bitcast", got, "dtypes of numbers that are not complex, or of equal width", "",
                             user_line(x.loc()));
  const auto parts = static_cast<int64_t>(std::max(from, to) / std::min(from, to));
  const auto width = static_cast<int64_t>(8 * std::min(from, to));  // bits of a part
  if (from < to && (given.ndim() == 0 || given.shape(-1) != parts))
    throw_user<ShapeError>("bitcast", got, fmt::format("a last axis of {} elements", parts),
                           fmt::format("{} has elements of {} bytes", name(dtype), to), user_line(x.loc()));
  return composite(fmt::format("bitcast {}", name(dtype)), {given}, [&](const Arrays& in) {
    const Array bits = same_width(in[0], unsigned_of(from));
    const DType wide_bits = unsigned_of(std::max(from, to));
    if (from > to) {
      Shape shape = bits.shape();
      shape.push_back(parts);
      const Array shift = iota(shape, bits.ndim(), wide_bits) * width;
      return same_width((broadcast_to(expand_dims(bits, -1), shape) >> shift).astype(unsigned_of(to)), dtype);
    }
    Array all;
    for (int64_t part = 0; part < parts; ++part) {
      const Array term = bits[{ellipsis, part}].astype(wide_bits) << full({}, part * width, wide_bits);
      all = part == 0 ? term : all | term;
    }
    return same_width(all, dtype);
  });
}

namespace {

struct Format {
  int exponent, mantissa;
};
Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {5, 10};
    case DType::bf16: return {8, 7};
    case DType::f64: return {11, 52};
    default: return {8, 23};
  }
}

// Rounds by integer arithmetic on the bits: half of what is dropped is added, less one where the last bit that stays is
// 0, and a carry goes into the exponent.
Array rounded(const Array& x, Format to) {
  const Format from = format_of(x.dtype());
  const DType bits = unsigned_of(size_of(x.dtype()));
  const auto number = [&](uint64_t n) { return detail::scalar_constant(0, static_cast<int64_t>(n), bits, {}); };
  Array v = same_width(x, bits);
  if (to.mantissa < from.mantissa) {
    const int dropped = from.mantissa - to.mantissa;
    const uint64_t last = uint64_t{1} << dropped;
    v = v + ((v >> number(static_cast<uint64_t>(dropped))) & number(1)) + number(last / 2 - 1);
    v = v & ~number(last - 1);
  }
  if (to.exponent < from.exponent) {
    const uint64_t mask = ((uint64_t{1} << from.exponent) - 1) << from.mantissa;
    const uint64_t bias = (uint64_t{1} << (from.exponent - 1)) - 1, less = (uint64_t{1} << (to.exponent - 1)) - 1;
    const Array exponent = v & number(mask), sign = v & number(uint64_t{1} << (from.exponent + from.mantissa));
    const Array infinite = exponent > number((bias + less) << from.mantissa);
    const Array none = exponent <= number((bias - less) << from.mantissa);
    v = select(none, sign, select(infinite, sign | number(mask), v));
  }
  return select(isnan(x), x, same_width(v, x.dtype()));
}

}  // namespace

Array reduce_precision(const Operand& x, int exponent_bits, int mantissa_bits) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  if (!is_float(a.dtype()))
    throw_user<DTypeError>("reduce_precision", to_string(a.aval()), "a floating dtype", "", user_line(x.loc()));
  if (exponent_bits < 1 || mantissa_bits < 0)
    throw_user<UserError>("reduce_precision",
                          fmt::format("{} exponent bits and {} mantissa bits", exponent_bits, mantissa_bits),
                          "one or more, and none or more", "", user_line(x.loc()));
  const Format to{exponent_bits, mantissa_bits};
  return composite(fmt::format("reduce_precision {} {}", exponent_bits, mantissa_bits), {a}, [&](const Arrays& in) {
    return custom_jvp([=](const Array& v) { return rounded(v, to); }, [](const Array&, const Array& dv) { return dv; },
                      user_line({}))(in[0]);
  });
}

}  // namespace neap
