// Complex numbers: their parts, and functions of them that are made of real ones.
#include <neap/creation.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

// Returns |z| by hypot, with the derivative 0 at 0, where hypot has none.
Array magnitude(const Array& z) {
  const Array re = real(z), im = imag(z);
  const Array nought = (re == 0) & (im == 0);
  return select(nought, zeros_like(re), hypot(select(nought, ones_like(re), re), im));
}

// Returns exp(w log z), and at z = 0 its limit: 0 for an exponent with a positive real part, NaN for others but 0.
Array complex_pow(const Array& z, const Array& w) {
  const Array nought = z == 0;
  const Array power = exp(w * log(select(nought, ones_like(z), z)));
  const Array limit = select(real(w) > 0, zeros_like(w), full(w.shape(), std::nan(""), w.dtype()));
  return select(nought, select(w == 0, ones_like(w), limit), power);
}

Array times_i(const Array& z) { return complex(-imag(z), real(z)); }
Array over_i(const Array& z) { return complex(imag(z), -real(z)); }

// Multiplies both parts: as a complex number s would make NaN of infinity times its imaginary part.
Array scaled(const Array& z, double s) { return complex(real(z) * s, imag(z) * s); }

// Returns where z is so large that 1 beside z^2 is nothing, or infinite, or NaN.
Array is_far(const Array& z) {
  const double limit = z.dtype() == DType::c128 ? 1e8 : 1e4;
  return !((abs(real(z)) < limit) & (abs(imag(z)) < limit));
}

// Returns log(2 z), also where 2 z overflows.
Array log_of_twice(const Array& z) {
  const Array y = log(z);
  return complex(real(y) + std::numbers::ln2, imag(y));
}

// z + s, s real: as a complex number it would lose the sign of an imaginary zero.
Array plus(const Array& z, double s) { return complex(real(z) + s, imag(z)); }

// These are Kahan's (Branch cuts for complex elementary functions, 1987), with logarithms far out.
Array complex_asin_near(const Array& z) {
  const Array p = sqrt(plus(-z, 1)), q = sqrt(plus(z, 1));
  return complex(atan2(real(z), real(p) * real(q) - imag(p) * imag(q)), asinh(real(p) * imag(q) - imag(p) * real(q)));
}

// Odd: far out, of z in the right half plane.
Array complex_asinh(const Array& z) {
  const Array far = is_far(z), left = signbit(real(z));
  const Array near = over_i(complex_asin_near(times_i(select(far, zeros_like(z), z))));
  const Array y = log_of_twice(select(far, select(left, -z, z), ones_like(z)));
  const Array known = complex(real(y), select(isnan(real(z)) & (imag(z) == 0), zeros_like(imag(z)), imag(y)));
  return select(far, select(left, -known, known), near);
}

Array complex_acosh(const Array& z) {
  const Array far = is_far(z), w = select(far, ones_like(z), z), p = sqrt(plus(w, -1)), q = sqrt(plus(w, 1));
  const Array near = complex(asinh(real(p) * real(q) + imag(p) * imag(q)), 2 * atan2(imag(p), real(q)));
  const Array y = select(far, log_of_twice(select(far, z, ones_like(z))), near);
  const Array right_angle = full(y.shape(), std::numbers::pi / 2, real(y).dtype());
  return complex(real(y), select((real(z) == 0) & isnan(imag(z)), right_angle, imag(y)));
}

// Far out it is 1 / z and a quarter of a turn.
Array complex_atanh(const Array& z) {
  const Array far = is_far(z), near = select(far, zeros_like(z), z), y = scaled(log1p(near) - log1p(-near), 0.5);
  const Array infinite = isinf(real(z)) | isinf(imag(z)), zero = zeros_like(real(z));
  const Array outer = reciprocal(select(far, z, ones_like(z)));
  const Array re = select(far, select(infinite, copysign(zero, real(z)), real(outer)), real(y));
  const Array turn = copysign(full(zero.shape(), std::numbers::pi / 2, zero.dtype()), imag(z));
  const Array im = select(far, select(isnan(imag(z)), imag(z), turn + select(infinite, zero, imag(outer))), imag(y));
  return complex(select((real(z) == 0) & isnan(imag(z)), real(z), re), im);
}

}  // namespace

namespace tracing {

Array apply_complex(Op op, const Arrays& in, std::source_location loc) {
  const Array& z = in[0];
  switch (op) {
    case Op::equal: return (real(z) == real(in[1])) & (imag(z) == imag(in[1]));
    case Op::not_equal: return (real(z) != real(in[1])) | (imag(z) != imag(in[1]));
    case Op::isnan: return isnan(real(z)) | isnan(imag(z));
    case Op::isinf: return isinf(real(z)) | isinf(imag(z));
    case Op::isfinite: return isfinite(real(z)) & isfinite(imag(z));
    case Op::abs: return magnitude(z);
    case Op::sign: {
      const Array r = magnitude(z);
      return z / convert(select(r == 0, ones_like(r), r), z.dtype());
    }
    case Op::rsqrt: return reciprocal(sqrt(z));
    case Op::exp2: return exp(scaled(z, std::numbers::ln2));
    case Op::log2: return scaled(log(z), 1 / std::numbers::ln2);
    case Op::log10: return scaled(log(z), 1 / std::numbers::ln10);
    case Op::sigmoid: return reciprocal(1 + exp(-z));
    case Op::pow: return complex_pow(z, in[1]);
    case Op::asin: return over_i(asinh(times_i(z)));
    case Op::acos: {
      const Array y = asin(z);
      return complex(std::numbers::pi / 2 - real(y), -imag(y));
    }
    case Op::atan: return over_i(atanh(times_i(z)));
    case Op::asinh: return complex_asinh(z);
    case Op::acosh: return complex_acosh(z);
    case Op::atanh: return complex_atanh(z);
    default: return apply(op, in, {}, loc);
  }
}

Array squared_magnitude(const Array& x) {
  return is_complex(x.dtype()) ? square(real(x)) + square(imag(x)) : square(x);
}

// Multiplies by halves: each element enters as many products as there are halvings.
Array complex_prod(const Array& x, const Shape& axes) {
  Shape order, flat;
  for (int64_t axis = 0; axis < x.ndim(); ++axis) {
    if (std::ranges::find(axes, axis) != axes.end()) continue;
    order.push_back(axis);
    flat.push_back(x.shape(axis));
  }
  const Shape kept = flat;
  flat.push_back(1);
  for (const int64_t axis : axes) flat.back() *= x.shape(axis);
  order.insert(order.end(), axes.begin(), axes.end());
  if (flat.back() == 0) return ones(kept, x.dtype());
  Array p = reshape(transpose(x, order), flat);
  while (p.shape(-1) > 1) {
    const int64_t half = p.shape(-1) / 2, even = 2 * half;
    const Array product = slice_in_dim(p, 0, half, -1) * slice_in_dim(p, half, even, -1);
    p = even == p.shape(-1) ? product : concatenate({product, slice_in_dim(p, even, even + 1, -1)}, -1);
  }
  return reshape(p, kept);
}

}  // namespace tracing

Array real(const Operand& x) {
  const Array z = x.as_array();
  return is_complex(z.dtype()) ? apply(Op::real, {z}, {}, x.loc()) : z;
}

Array imag(const Operand& x) {
  const Array z = x.as_array();
  return is_complex(z.dtype()) ? apply(Op::imag, {z}, {}, x.loc()) : zeros_like(Operand(z, x.loc()));
}

Array conj(const Operand& x) {
  const Array z = x.as_array();
  if (!is_complex(z.dtype())) return z;
  const AtLine line(x.loc());
  return composite("conj", {z}, [](const Arrays& in) { return complex(real(in[0]), -imag(in[0])); });
}

Array complex(const Operand& re, const Operand& im) {
  const std::array<const Operand*, 2> operands{&re, &im};
  const DType dtype = common_dtype(operands);
  const AtLine line(re.loc());
  if (is_complex(dtype))
    throw_user<DTypeError>("complex", to_string(re.as_array().aval()) + " and " + to_string(im.as_array().aval()),
                           "two real arrays", "real() and imag() are the parts of a complex one", user_line(re.loc()));
  const DType part = real_dtype(complex_dtype(dtype));
  const Shape shape = common_shape("complex", operands);
  return apply(Op::complex, {fit(re, shape, part), fit(im, shape, part)}, {}, re.loc());
}

Array angle(const Operand& z) {
  const AtLine line(z.loc());
  return composite("angle", {z.as_array()}, [](const Arrays& in) {
    const DType dtype = to_float_dtype(in[0].dtype());
    return atan2(imag(in[0]).astype(real_dtype(dtype)), real(in[0]).astype(real_dtype(dtype)));
  });
}

}  // namespace neap
