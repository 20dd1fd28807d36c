// Fourier transforms become steps of their own where a backend has them (planner/kernels/fourier.h), otherwise products
// with small matrices of roots of unity.
//
// For products, a length n = r m is split (Cooley and Tukey 1965): transforms of length r, a product with roots of
// unity, transforms of length m. A length without a small divisor, for steps one with a large prime one, becomes a
// cyclic convolution of a length that has them (Bluestein 1970). What moves elements between these is views, which the
// planner fuses into the products. Of an even number of real elements, or of elements whose results are read as real,
// the transform is one of half the length, unless it is short: its elements are pairs of real ones (Cooley, Lewis and
// Welch 1970).
#include <neap/creation.h>
#include <neap/ops.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "planner/kernels/fourier_form.h"
#include "planner/rewrite/complex.h"
#include "trace/ops/ops_common.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Lengths. A longer direct transform is one product of more work, a split is two with a copy between them. No
// measurement on a GPU is recorded.
constexpr int64_t kLargestRadix = 64;   // of a split
constexpr int64_t kLargestDirect = 96;  // of one without a divisor up to kLargestRadix that is one product
constexpr int64_t kLeastHalved = 64;    // of real numbers that is halved; shorter ones take no longer whole

/// Computes exp(sign 2 pi i q / n) for integers q in [0, n), in parts of `dtype`. It turns by whole quarters, which is
/// exact, and by at most an eighth, which is rounded least: transforms of small integers are integers.
Parts roots_of_unity(const Array& q, int64_t n, double sign, DType dtype) {
  const auto past = [&](int64_t eighths) { return convert(8 * q > eighths * n, q.dtype()); };
  const Array quarters = past(1) + past(3) + past(5) + past(7);
  const Array angle = convert(4 * q - quarters * n, dtype) * (sign * std::numbers::pi / (2 * static_cast<double>(n)));
  const Array c = cos(angle), s = sin(angle), odd = (quarters & 1) == 1;
  const Array half = (quarters == 2) | (quarters == (sign > 0 ? 3 : 1));  // half a turn further
  const Array re = select(odd, -s, c), im = select(odd, c, s);
  return {select(half, -re, re), select(half, -im, im)};
}

/// Counts along an axis, in a dtype for products below `limit`.
Array indices(const Shape& shape, int64_t axis, int64_t limit) {
  return iota(shape, axis, limit < int64_t{1} << 31 ? i32 : i64);
}

bool has_step(int64_t n) { return radices_of(n).count > 0; }
bool has_step_of_reals(int64_t n) { return n > 2 && n % 2 == 0 && has_step(n / 2); }

Parts one_step(Op op, const Parts& x, int64_t axis, bool reverse) {
  const Array operand = op == Op::rfft_pairs ? x.re : interleaved(x);
  const Array y = apply(op, {operand}, {{Attr::axis, axis}, {Attr::reverse, int64_t{reverse}}}, user_line({}));
  return op == Op::irfft_pairs ? Parts{y, {}} : taken_apart(y);
}

/// Returns elements [0, n / 2] along an axis of n, an even number, made symmetric: with the others by symmetry, their
/// transform is the real part of the transform. Imaginary parts come of what is not symmetric.
Parts symmetric_half(const Parts& x, int64_t axis) {
  const int64_t n = x.re.shape(axis), m = n / 2;
  const auto ahead = [&](const Array& a) { return slice_in_dim(a, 0, m + 1, axis); };
  const auto back = [&](const Array& a) {
    return concatenate({slice_in_dim(a, 0, 1, axis), flip(slice_in_dim(a, m, n, axis), axis)}, axis);
  };
  return {ahead(x.re) * 0.5 + back(x.re) * 0.5, ahead(x.im) * 0.5 - back(x.im) * 0.5};
}

/// Returns all n results along an axis, an even number, of the first half of them: those of a transform of reals.
Parts mirrored_whole(const Parts& first, int64_t axis) {
  const int64_t m = first.re.shape(axis) - 1;
  const auto inside = [&](const Array& a) { return flip(slice_in_dim(a, 1, m, axis), axis); };
  return {concatenate({first.re, inside(first.re)}, axis), concatenate({first.im, -inside(first.im)}, axis)};
}

class Fft {
 public:
  Fft(double sign, DType dtype, bool by_steps) : sign_(sign), dtype_(dtype), by_steps_(by_steps) {}

  /// Transforms an even number n of real numbers along the last axis of [batch, n]; returns the results [0, n/2].
  Parts of_reals(const Array& x) const {
    const int64_t batch = x.shape(0), m = x.shape(1) / 2;
    const auto [even, odd] = split_pairs(x);
    const Parts ahead = each_part(run({even, odd}), [](const Array& a) {  // half of one period and its first element
      return concatenate({a, slice_in_dim(a, 0, 1, 1)}, 1) * 0.5;
    });
    const Parts back = conjugate(each_part(ahead, [](const Array& a) { return flip(a, 1); }));
    // The sum is the transform of the even elements, the difference that of the odd ones times i.
    const Parts turned = multiply({ahead.im - back.im, back.re - ahead.re}, turns(batch, m));
    return {ahead.re + back.re + turned.re, ahead.im + back.im + turned.im};
  }

  /// Transforms along the last axis of [batch, n], n even; returns the real parts of the results.
  Array to_reals(const Parts& x) const {
    const int64_t batch = x.re.shape(0), n = x.re.shape(1), m = n / 2;
    const Parts half = symmetric_half(x, 1);
    const Parts mirrored = conjugate(each_part(half, [](const Array& a) { return flip(a, 1); }));
    const Parts turned = multiply({half.re - mirrored.re, half.im - mirrored.im}, turns(batch, m));
    const auto period = [&](const Array& a) { return slice_in_dim(a, 0, m, 1); };
    const Parts y = run({period(half.re + mirrored.re - turned.im), period(half.im + mirrored.im + turned.re)});
    return reshape(concatenate({expand_dims(y.re, 2), expand_dims(y.im, 2)}, 2), {batch, n});
  }

  /// Transforms along the last axis of [batch, n].
  Parts run(const Parts& x) const {
    const int64_t n = x.re.shape(1);
    if (n <= 1) return x;
    if (by_steps_ && has_step(n)) return one_step(Op::fft_pairs, x, 1, sign_ > 0);
    if (by_steps_) return by_convolution(x);
    if (n <= kLargestRadix) return direct(x);
    const int64_t r = radix(n);
    if (r > 1) return split(x, r);
    return n <= kLargestDirect ? direct(x) : by_convolution(x);
  }

 private:
  static Parts conjugate(const Parts& x) { return {x.re, -x.im}; }

  /// Returns the even elements of the last axis of [batch, n] and the odd ones.
  static std::pair<Array, Array> split_pairs(const Array& x) {
    const int64_t batch = x.shape(0), m = x.shape(1) / 2;
    const Array pairs = reshape(x, {batch, m, 2});
    const auto element = [&](int64_t i) { return reshape(slice_in_dim(pairs, i, i + 1, 2), {batch, m}); };
    return {element(0), element(1)};
  }

  /// Returns the first m + 1 of the 2 m-th roots of unity in each of `batch` rows.
  Parts turns(int64_t batch, int64_t m) const {
    return each_part(roots_of_unity(indices({m + 1}, 0, 18 * m), 2 * m, sign_, dtype_),
                     [&](const Array& a) { return broadcast_to(a, {batch, m + 1}); });
  }

  /// Returns the divisor up to kLargestRadix that makes the factors of n most alike; 1 where there is none.
  static int64_t radix(int64_t n) {
    const double log_n = std::log(static_cast<double>(n));
    const double ideal = log_n / std::ceil(log_n / std::log(static_cast<double>(kLargestRadix)) - 1e-9);
    const auto distance = [&](int64_t r) { return std::abs(std::log(static_cast<double>(r)) - ideal); };
    int64_t best = 1;
    for (int64_t r = 2; r <= kLargestRadix; ++r)
      if (n % r == 0 && distance(r) < distance(best)) best = r;
    return best;
  }

  /// Transforms by one product of real matrices: (re, im) with the rows (cos, sin) and (-sin, cos).
  Parts direct(const Parts& x) const {
    const int64_t n = x.re.shape(1);
    const Parts w =
        roots_of_unity(remainder(indices({n, n}, 0, n * n) * indices({n, n}, 1, n * n), n), n, sign_, dtype_);
    const Array matrix = concatenate({concatenate({w.re, w.im}, 1), concatenate({-w.im, w.re}, 1)}, 0);
    const Array y = matmul(concatenate({x.re, x.im}, 1), matrix);
    return {slice_in_dim(y, 0, n, 1), slice_in_dim(y, n, 2 * n, 1)};
  }

  /// Transforms lengths r, then m = n / r: input j is j1 m + j2 and output k is k1 + r k2.
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

  /// Transforms by a convolution: with c_j = exp(sign pi i j^2 / n), output k is c_k times the convolution of x c with
  /// the conjugate of c at k.
  Parts by_convolution(const Parts& x) const {
    const int64_t batch = x.re.shape(0), n = x.re.shape(1);
    const auto padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
    const Parts chirp = roots_of_unity(remainder(square(indices({n}, 0, n * n)), 2 * n), 2 * n, sign_, dtype_);
    const auto times_chirp = [&](const Parts& y) {
      return multiply(y, each_part(chirp, [&](const Array& a) { return broadcast_to(a, {batch, n}); }));
    };
    const auto filled = [&](const Array& a) { return pad(a, {0, 0}, {0, padded - n}); };
    const auto around = [&](const Array& a) {  // also at negative distances
      const Array back = flip(slice_in_dim(a, 1, n, 0), 0);
      return reshape(concatenate({a, zeros({padded - 2 * n + 1}, dtype_), back}), {1, padded});
    };
    const Fft forward(-1, dtype_, by_steps_), backward(1, dtype_, by_steps_);
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
  bool by_steps_;
};

}  // namespace

Parts lower_fft(const Parts& x, int64_t axis, const FftUse& use) {
  const int64_t n = x.re.shape(axis);
  if (x.re.size() == 0 || n == 1) return x;
  if (use.by_steps) {
    if (use.of_reals && has_step_of_reals(n)) {
      return mirrored_whole(one_step(Op::rfft_pairs, x, axis, use.reverse), axis);
    }
    if (use.to_reals && has_step_of_reals(n)) {
      return one_step(Op::irfft_pairs, symmetric_half(x, axis), axis, use.reverse);
    }
    if (has_step(n)) return one_step(Op::fft_pairs, x, axis, use.reverse);
  }
  const Fft fft(use.reverse ? 1 : -1, x.re.dtype(), use.by_steps);
  const auto rows = [&](const Array& a) { return reshape(moveaxis(a, axis, -1), {x.re.size() / n, n}); };
  const auto back = [&](const Array& a) {
    Shape shape = x.re.shape();
    shape.erase(shape.begin() + axis);
    shape.push_back(a.shape(1));
    return moveaxis(reshape(a, shape), -1, axis);
  };
  const bool halved = n % 2 == 0 && n >= kLeastHalved;
  if (use.of_reals && halved) return mirrored_whole(each_part(fft.of_reals(rows(x.re)), back), axis);
  if (use.to_reals && halved) return {back(fft.to_reals(each_part(x, rows))), {}};
  return each_part(fft.run(each_part(x, rows)), back);
}

}  // namespace neap::planner
