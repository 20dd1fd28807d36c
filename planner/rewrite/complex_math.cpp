// Elementwise functions of complex numbers are computed by their parts.
#include <neap/creation.h>
#include <neap/error.h>
#include <neap/ops.h>

#include "planner/rewrite/complex.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Without overflow where the quotient has none: Smith's method (Comm. ACM 5, 1962). Over 0 it is infinite, and 0 over
// two infinite parts.
Parts divide(const Parts& x, const Parts& y) {
  const Array wide = abs(y.re) >= abs(y.im);
  const Array large = select(wide, y.re, y.im), small = select(wide, y.im, y.re);
  const Array along = select(wide, x.re, x.im), across = select(wide, x.im, x.re);
  const Array none = copysign(minimum(abs(large), ones_like(large)), large * small);  // of two zeros: 0, infinities: 1
  const Array ratio = select((large == 0) | isinf(small), none, small / large);
  const Array norm = large + small * ratio;
  const Array im = (across - along * ratio) / norm;
  return {(along + across * ratio) / norm, select(wide, im, -im)};
}

// log |z|; near |z| = 1 by what |z|^2 differs from 1, which keeps its digits.
Array log_magnitude(const Array& re, const Array& im) {
  const Array a = abs(re), b = abs(im), large = maximum(a, b), small = minimum(a, b);
  const Array r = hypot(re, im), near = log1p((large - 1) * (large + 1) + small * small) * 0.5;
  return select((r > 0.5) & (r < 1.5), near, log(r));
}

Parts log(const Parts& z) { return {log_magnitude(z.re, z.im), atan2(z.im, z.re)}; }

Parts log1p(const Parts& z) {
  const Array& x = z.re;
  const Array near = neap::log1p(x * (2 + x) + z.im * z.im) * 0.5;
  const Array is_near = (abs(x) < 0.5) & (abs(z.im) < 0.5);
  return {select(is_near, near, log_magnitude(1 + x, z.im)), atan2(z.im, 1 + x)};
}

// Annex G of C: a factor f(x) that is 0 or infinite is what its product with the sine or cosine of an infinity or a NaN
// is; `ends` says where f(x) is so by itself, and not by underflow or overflow.
Array times_unknown(const Array& r, const Array& ends, const Array& t) { return select(ends & isnan(t), r, r * t); }

// r t of a sine t, which is 0 where that is, also where r is infinite or NaN.
Array times_sine(const Array& r, const Array& t) {
  return select((t == 0) & !isfinite(r), select(r < 0, -t, t), r * t);
}

Array is_negative_infinity(const Array& x) { return isinf(x) & (x < 0); }

// exp(x) sin y.
Array exp_sine(const Array& x, const Array& t) {
  const Array r = neap::exp(x);
  return select(is_negative_infinity(x) & isnan(t), r, times_sine(r, t));
}

Parts exp(const Parts& z) {
  return {times_unknown(neap::exp(z.re), isinf(z.re), neap::cos(z.im)), exp_sine(z.re, neap::sin(z.im))};
}

Parts expm1(const Parts& z) {
  const Array s = neap::sin(z.im * 0.5), cosm1 = -2 * s * s;  // cos y - 1
  const Array r = neap::expm1(z.re);
  return {select(isinf(z.re) & isnan(s), r, r * (1 + cosm1) + cosm1), exp_sine(z.re, neap::sin(z.im))};
}

// The root with the larger part first; the other part by division, without cancellation. Of a quarter of z, as |z| may
// overflow.
Parts sqrt(const Parts& z) {
  const Array x = z.re * 0.25, y = z.im * 0.25;
  const Array large = 2 * neap::sqrt((hypot(x, y) + abs(x)) * 0.5);
  const Array nought = large == 0, ratio = z.im / select(nought, ones_like(large), 2 * large);
  const Array small = select(isinf(z.im), z.im, ratio);
  const Array right = z.re >= 0;
  return {select(right, large, abs(small)), select(right, select(nought, z.im, small), copysign(large, z.im))};
}

Parts sinh(const Parts& z) {
  const Array ends = (z.re == 0) | isinf(z.re);
  return {times_unknown(neap::sinh(z.re), ends, neap::cos(z.im)), times_sine(neap::cosh(z.re), neap::sin(z.im))};
}
Parts cosh(const Parts& z) {
  const Array r = neap::sinh(z.re), t = neap::sin(z.im);
  return {times_unknown(neap::cosh(z.re), isinf(z.re), neap::cos(z.im)),
          select((z.re == 0) & isnan(t), r, times_sine(r, t))};
}

// By the tangents of both parts: nothing overflows.
Parts tanh(const Parts& z) {
  const Array t = neap::tanh(z.re), u = neap::tan(z.im), sech = reciprocal(neap::cosh(z.re));
  const Array tu = t * u, norm = 1 + tu * tu, ends = isinf(z.re);
  const Array nothing = select(isnan(z.im), zeros_like(u), copysign(zeros_like(u), z.im));
  return {select((ends | (z.re == 0)) & isnan(u), t, t * (1 + u * u) / norm),
          select(ends, nothing, select(u == 0, u, u * sech * sech / norm))};
}

// Without inf - inf where one part is larger.
Parts square(const Parts& z) { return {(z.re - z.im) * (z.re + z.im), 2 * z.re * z.im}; }

// Of i z, where the hyperbolic functions are the trigonometric ones.
Parts turned(const Parts& z) { return {-z.im, z.re}; }
Parts turned_back(const Parts& z) { return {z.im, -z.re}; }

}  // namespace

Parts multiply(const Parts& x, const Parts& y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }

Parts lower_elementwise(Op op, std::span<const Parts> in) {
  const Parts& z = in[0];
  switch (op) {
    case Op::negative: return {-z.re, -z.im};
    case Op::stop_gradient: return z;
    case Op::add: return {z.re + in[1].re, z.im + in[1].im};
    case Op::subtract: return {z.re - in[1].re, z.im - in[1].im};
    case Op::multiply: return multiply(z, in[1]);
    case Op::square: return square(z);
    case Op::divide: return divide(z, in[1]);
    case Op::reciprocal: return divide({ones_like(z.re), zeros_like(z.re)}, z);
    case Op::exp: return exp(z);
    case Op::expm1: return expm1(z);
    case Op::log: return log(z);
    case Op::log1p: return log1p(z);
    case Op::sqrt: return sqrt(z);
    case Op::sinh: return sinh(z);
    case Op::cosh: return cosh(z);
    case Op::tanh: return tanh(z);
    case Op::sin: return turned_back(sinh(turned(z)));
    case Op::cos: return cosh(turned(z));
    case Op::tan: return turned_back(tanh(turned(z)));
    case Op::select: return {select(z.re, in[1].re, in[2].re), select(z.re, in[1].im, in[2].im)};
    default: throw InternalError(std::string(name(op)) + " of complex numbers is not lowered");
  }
}

}  // namespace neap::planner
