// Fourier transforms: jax.numpy.fft, under its names and with its definitions.
//
//   fft:  X[k] = sum over j of x[j] exp(-2 pi i j k / n),    ifft:  x[j] = 1/n sum over k of X[k] exp(2 pi i j k / n)
//
// of every length n, along one axis or several; the axes before and after are a batch. f64 and c128 give c128, all
// other dtypes c64. They are linear and have derivatives of any order. Values are compared with JAX's:
// tests/golden/fft.json.
#pragma once

#include <neap/ops.h>

#include <optional>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap::fft {

/// Norm says which direction is scaled by 1/n: the inverse (backward), both by 1/sqrt(n) (ortho), or the forward one.
enum class Norm : uint8_t { backward, ortho, forward };

/// Options say how long the transformed axis is taken (cut or filled with zeros at its end), which one it is, and the
/// scale.
struct Options {
  std::optional<int64_t> n = {};
  int64_t axis = -1;
  Norm norm = Norm::backward;
};
/// Computes X from x.
Array fft(const Operand& x, const Options& options = {});
/// Computes x from X.
Array ifft(const Operand& x, const Options& options = {});
/// Transforms real numbers: it returns the first n / 2 + 1 outputs; the others are their conjugates.
Array rfft(const Operand& x, const Options& options = {});
/// Inverts rfft; the result is real. n is the length of the result, 2 (m - 1) of m inputs unless given. Imaginary parts
/// of the first input, and for even n of the last, are ignored.
Array irfft(const Operand& x, const Options& options = {});
/// Does irfft with the direction exchanged: the real spectrum of what is symmetric, x[-j] = conj(x[j]).
Array hfft(const Operand& x, const Options& options = {});
/// Inverts hfft: rfft with the direction exchanged.
Array ihfft(const Operand& x, const Options& options = {});

/// ManyOptions say along which axes to transform: all of them (2: the last two) unless given; shape: their lengths, as
/// n.
struct ManyOptions {
  std::optional<Shape> shape = {}, axes = {};
  Norm norm = Norm::backward;
};
/// Transforms by fft along two axes.
Array fft2(const Operand& x, const ManyOptions& options = {});
/// Inverts fft2.
Array ifft2(const Operand& x, const ManyOptions& options = {});
/// Transforms by fft along all axes, or those given.
Array fftn(const Operand& x, const ManyOptions& options = {});
/// Inverts fftn.
Array ifftn(const Operand& x, const ManyOptions& options = {});
/// Transforms the last of two axes by rfft, the other by fft.
Array rfft2(const Operand& x, const ManyOptions& options = {});
/// Inverts rfft2; the result is real.
Array irfft2(const Operand& x, const ManyOptions& options = {});
/// Transforms the last of the axes by rfft, the others by fft.
Array rfftn(const Operand& x, const ManyOptions& options = {});
/// Inverts rfftn; the result is real.
Array irfftn(const Operand& x, const ManyOptions& options = {});

/// Returns the frequency of each output of fft, in cycles per unit of the spacing d: 0, 1, ..., then the negative ones.
Array fftfreq(int64_t n, double d = 1, DType dtype = f32, std::source_location loc = std::source_location::current());
/// Returns the same for rfft: none is negative.
Array rfftfreq(int64_t n, double d = 1, DType dtype = f32, std::source_location loc = std::source_location::current());
/// Moves frequency 0 to the middle of the axes (all unless given).
Array fftshift(const Operand& x, const Axes& axes = {});
/// Inverts fftshift.
Array ifftshift(const Operand& x, const Axes& axes = {});

}  // namespace neap::fft

#pragma GCC visibility pop
