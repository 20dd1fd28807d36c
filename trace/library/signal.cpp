// Signals (neap/signal.h), after jax.scipy.signal: convolutions as one op, or as products of Fourier transforms.
#include <neap/creation.h>
#include <neap/fft.h>
#include <neap/signal.h>

#include <fmt/format.h>

#include "core/size.h"
#include "trace/ops/ops_common.h"

namespace neap::signal {

using namespace tracing;

namespace {

// Whether one extent, or all of them, are at least those of another shape.
bool covers(const Shape& x, const Shape& y) {
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] < y[i]) return false;
  return true;
}

// Both are the operands of a convolution in the dtype that they promote to.
struct Both {
  Array x, y;
  DType dtype;
};
Both checked(std::string_view op, const Operand& x, const Operand& y, ConvolveMode mode) {
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = to_float_dtype(common_dtype(operands)), computed = wide(dtype);
  const Both both{x.as(computed), y.as(computed), dtype};
  const auto refuse = [&](std::string_view expected) {
    throw_user<ShapeError>(op, to_string(both.x.aval()) + " and " + to_string(both.y.aval()), std::string(expected), "",
                           user_line(x.loc()));
  };
  if (both.x.ndim() != both.y.ndim() || both.x.size() == 0 || both.y.size() == 0)
    refuse("as many axes, one or more, neither of them empty");
  if (mode == ConvolveMode::valid && !covers(x.shape(), y.shape()) && !covers(y.shape(), x.shape()))
    refuse("one array that is at least as long as the other along all axes");
  for (size_t i = 0; i < x.shape().size(); ++i)
    static_cast<void>((Size(x.shape()[i]) + y.shape()[i]).value(op, "an extent of the result", user_line(x.loc())));
  return both;
}

// Part is which elements of a full axis of n + m - 1 count.
struct Part {
  int64_t start, count;
};
// `later`: where `same` is not quite in the middle it begins one later.
Part part_of(ConvolveMode mode, int64_t n, int64_t m, bool later = false) {
  switch (mode) {
    case ConvolveMode::same: return {later ? m / 2 : (m - 1) / 2, n};
    case ConvolveMode::valid: return {std::min(n, m) - 1, std::max(n, m) - std::min(n, m) + 1};
    default: return {0, n + m - 1};
  }
}

Array direct(std::string_view op, const Operand& x, const Operand& y, ConvolveMode mode, bool later = false) {
  const AtLine line(x.loc());
  const Both both = checked(op, x, y, mode);
  const int64_t ndim = both.x.ndim();
  if (ndim < 1 || ndim > 3)
    throw_user<ShapeError>(op, to_string(both.x.aval()), "one to three axes", "fftconvolve() takes any number",
                           user_line(x.loc()));
  return composite(fmt::format("{} {} {}", op, static_cast<int>(mode), later), {both.x, both.y}, [&](const Arrays& in) {
    // The smaller one is the window.
    const bool swapped = in[1].size() > in[0].size();
    const Array &image = in[swapped ? 1 : 0], &window = in[swapped ? 0 : 1];
    Windows windows;
    for (int64_t i = 0; i < ndim; ++i) {
      const Part part = part_of(mode, in[0].shape(i), in[1].shape(i), later);
      const int64_t before = window.shape(i) - 1 - part.start;
      windows.padding.emplace_back(before, part.count + window.shape(i) - 1 - before - image.shape(i));
    }
    const auto one_channel = [](const Array& a) {
      Shape shape = a.shape();
      shape.insert(shape.begin(), 2, 1);
      return reshape(a, shape);
    };
    const Array out = conv_general(one_channel(image), one_channel(flip(window)), windows);
    return reshape(out, Shape(out.shape().begin() + 2, out.shape().end())).astype(both.dtype);
  });
}

// Returns the least even number of at least n whose transform has no factor above 5.
int64_t fast_length(int64_t n) {
  int64_t best = 2;
  while (best < n) best *= 2;
  for (int64_t fives = 1; fives <= best; fives *= 5)
    for (int64_t threes = fives; threes <= best; threes *= 3) {
      int64_t length = 2 * threes;
      while (length < n) length *= 2;
      best = std::min(best, length);
    }
  return best;
}

void require_matrices(std::string_view op, const Operand& x, const Operand& y) {
  for (const Operand* o : {&x, &y})
    if (o->shape().size() != 2)
      throw_user<ShapeError>(op, to_string(o->as_array().aval()), "two axes", "", user_line(x.loc()));
}

}  // namespace

Array fftconvolve(const Operand& x, const Operand& y, ConvolveMode mode, const Axes& axes) {
  const AtLine line(x.loc());
  const Both both = checked("fftconvolve", x, y, mode);
  const Shape along = axes.resolve(both.x.ndim(), "fftconvolve", user_line(x.loc()));
  Shape lengths, start(both.x.shape().size(), 0), limit = both.x.shape(), whole = limit;
  for (int64_t i = 0; i < both.x.ndim(); ++i) {
    const int64_t n = both.x.shape(i), m = both.y.shape(i);
    if (std::ranges::find(along, i) != along.end()) {
      if (n + m - 1 > int64_t{1} << 60)
        throw_user<ShapeError>("fftconvolve", to_string(both.x.aval()), "a shorter axis", "", user_line(x.loc()));
      lengths.push_back(fast_length(n + m - 1));
      const Part part = part_of(mode, n, m);
      start[i] = part.start, limit[i] = part.start + part.count, whole[i] = lengths.back();
    } else if (n != m) {
      throw_user<ShapeError>("fftconvolve", to_string(both.x.aval()) + " and " + to_string(both.y.aval()),
                             fmt::format("equal extents along axis {}", i), "", user_line(x.loc()));
    }
  }
  check_extents("fftconvolve", whole, complex_dtype(both.x.dtype()), user_line(x.loc()));
  if (along.empty()) return (both.x * both.y).astype(both.dtype);
  return composite(fmt::format("fftconvolve {} {}", static_cast<int>(mode), to_string(along)), {both.x, both.y},
                   [&](const Arrays& in) {
                     const fft::ManyOptions options{.shape = lengths, .axes = along};
                     const bool complex = is_complex(in[0].dtype());
                     const auto transform = [&](const Array& a) {
                       return complex ? fft::fftn(a, options) : fft::rfftn(a, options);
                     };
                     const Array product = transform(in[0]) * transform(in[1]);
                     const Array full = complex ? fft::ifftn(product, options) : fft::irfftn(product, options);
                     return strided_slice(full, start, limit).astype(both.dtype);
                   });
}

Array convolve(const Operand& x, const Operand& y, ConvolveMode mode) { return direct("convolve", x, y, mode); }

Array correlate(const Operand& x, const Operand& y, ConvolveMode mode) {
  const AtLine line(x.loc());
  return direct("correlate", x, Operand(flip(conj(y)), x.loc()), mode);
}

Array convolve2d(const Operand& x, const Operand& y, ConvolveMode mode) {
  require_matrices("convolve2d", x, y);
  return direct("convolve2d", x, y, mode);
}

Array correlate2d(const Operand& x, const Operand& y, ConvolveMode mode) {
  const AtLine line(x.loc());
  require_matrices("correlate2d", x, y);
  const Array out = direct("correlate2d", x, Operand(flip(conj(y)), x.loc()), mode, true);
  const bool larger = covers(y.shape(), x.shape()) && x.shape() != y.shape();
  return mode == ConvolveMode::valid && larger ? conj(out) : out;
}

}  // namespace neap::signal
