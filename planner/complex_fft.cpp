// Fourier transforms as products with small matrices of roots of unity.
//
// A length n = r m is split (Cooley and Tukey 1965): transforms of length r, a product with roots of unity, transforms
// of length m. A length without a small divisor becomes a cyclic convolution of a length that has them (Bluestein
// 1970). What moves elements between these is views, which the planner fuses into the products.
#include <neap/creation.h>
#include <neap/ops.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "planner/complex.h"

namespace neap::planner {
namespace {

constexpr int64_t kLargestRadix = 64;   // of a split
constexpr int64_t kLargestDirect = 96;  // one product

/// exp(sign 2 pi i q / n) for integers q in [0, n), of the dtype of real numbers given. Turned by whole quarters, which
/// is exact, and by at most an eighth, which is rounded least: transforms of small integers are integers.
Parts roots_of_unity(const Array& q, int64_t n, double sign, DType dtype) {
  const auto past = [&](int64_t eighths) { return convert(8 * q > eighths * n, q.dtype()); };
  const Array quarters = past(1) + past(3) + past(5) + past(7);
  const Array angle = convert(4 * q - quarters * n, dtype) * (sign * std::numbers::pi / (2 * static_cast<double>(n)));
  const Array c = cos(angle), s = sin(angle), odd = (quarters & 1) == 1;
  const Array half = (quarters == 2) | (quarters == (sign > 0 ? 3 : 1));  // half a turn further
  const Array re = select(odd, -s, c), im = select(odd, c, s);
  return {select(half, -re, re), select(half, -im, im)};
}

/// Along an axis, for products with others below `limit`.
Array indices(const Shape& shape, int64_t axis, int64_t limit) {
  return iota(shape, axis, limit < int64_t{1} << 31 ? i32 : i64);
}

class Fft {
 public:
  Fft(double sign, DType dtype) : sign_(sign), dtype_(dtype) {}

  /// Along the last axis of [batch, n].
  Parts run(const Parts& x) const {
    const int64_t n = x.re.shape(1);
    if (n <= 1) return x;
    if (n <= kLargestRadix) return direct(x);
    const int64_t r = radix(n);
    if (r > 1) return split(x, r);
    return n <= kLargestDirect ? direct(x) : by_convolution(x);
  }

 private:
  /// The divisor up to kLargestRadix that makes the factors of n most alike; 1 where there is none.
  static int64_t radix(int64_t n) {
    const double log_n = std::log(static_cast<double>(n));
    const double ideal = log_n / std::ceil(log_n / std::log(static_cast<double>(kLargestRadix)) - 1e-9);
    const auto distance = [&](int64_t r) { return std::abs(std::log(static_cast<double>(r)) - ideal); };
    int64_t best = 1;
    for (int64_t r = 2; r <= kLargestRadix; ++r)
      if (n % r == 0 && distance(r) < distance(best)) best = r;
    return best;
  }

  /// One product of real matrices: (re, im) with the rows (cos, sin) and (-sin, cos).
  Parts direct(const Parts& x) const {
    const int64_t n = x.re.shape(1);
    const Parts w =
        roots_of_unity(remainder(indices({n, n}, 0, n * n) * indices({n, n}, 1, n * n), n), n, sign_, dtype_);
    const Array matrix = concatenate({concatenate({w.re, w.im}, 1), concatenate({-w.im, w.re}, 1)}, 0);
    const Array y = matmul(concatenate({x.re, x.im}, 1), matrix);
    return {slice_in_dim(y, 0, n, 1), slice_in_dim(y, n, 2 * n, 1)};
  }

  /// With j = j1 m + j2 and k = k1 + r k2.
  Parts split(const Parts& x, int64_t r) const {
    const int64_t batch = x.re.shape(0), n = x.re.shape(1), m = n / r;
    const auto swapped = [](const Parts& y, const Shape& from, const Shape& to) {
      return each_part(y, [&](const Array& a) { return reshape(swapaxes(reshape(a, from), 1, 2), to); });
    };
    const Parts inner = direct(swapped(x, {batch, r, m}, {batch * m, r}));  // [batch, j2, k1]
    const Parts twiddle = roots_of_unity(indices({m, r}, 0, 9 * n) * indices({m, r}, 1, 9 * n), n, sign_, dtype_);
    const Shape whole{batch, m, r};
    const Parts turned = multiply(each_part(inner, [&](const Array& a) { return reshape(a, whole); }),
                                  each_part(twiddle, [&](const Array& a) { return broadcast_to(a, whole); }));
    const Parts outer = run(swapped(turned, whole, {batch * r, m}));  // [batch, k1, k2]
    return swapped(outer, {batch, r, m}, {batch, n});
  }

  /// With c_j = exp(sign pi i j^2 / n), output k is c_k times the convolution of x c with the conjugate of c at k.
  Parts by_convolution(const Parts& x) const {
    const int64_t batch = x.re.shape(0), n = x.re.shape(1);
    const auto padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
    const Parts chirp = roots_of_unity(remainder(square(indices({n}, 0, n * n)), 2 * n), 2 * n, sign_, dtype_);
    const auto times_chirp = [&](const Parts& y) {
      return multiply(y, each_part(chirp, [&](const Array& a) { return broadcast_to(a, {batch, n}); }));
    };
    const auto conjugate = [](const Parts& y) { return Parts{y.re, -y.im}; };
    const auto filled = [&](const Array& a) { return pad(a, {0, 0}, {0, padded - n}); };
    const auto around = [&](const Array& a) {  // also at negative distances
      const Array back = flip(slice_in_dim(a, 1, n, 0), 0);
      return reshape(concatenate({a, zeros({padded - 2 * n + 1}, dtype_), back}), {1, padded});
    };
    const Fft forward(-1, dtype_), backward(1, dtype_);
    const Parts kernel = forward.run(each_part(conjugate(chirp), around));
    const Parts spectrum = forward.run(each_part(times_chirp(x), filled));
    const Parts product =
        multiply(spectrum, each_part(kernel, [&](const Array& a) { return broadcast_to(a, {batch, padded}); }));
    const double scale = 1 / static_cast<double>(padded);
    return times_chirp(
        each_part(backward.run(product), [&](const Array& a) { return slice_in_dim(a, 0, n, 1) * scale; }));
  }

  double sign_;
  DType dtype_;
};

}  // namespace

Parts lower_fft(const Parts& x, int64_t axis, bool reverse) {
  const Array moved = moveaxis(x.re, axis, -1);
  const Shape& shape = moved.shape();
  const int64_t n = shape.back();
  if (x.re.size() == 0 || n == 1) return x;
  const Fft fft(reverse ? 1 : -1, x.re.dtype());
  const auto last = [&](const Array& a) { return reshape(moveaxis(a, axis, -1), {x.re.size() / n, n}); };
  return each_part(fft.run(each_part(x, last)), [&](const Array& a) { return moveaxis(reshape(a, shape), -1, axis); });
}

}  // namespace neap::planner
