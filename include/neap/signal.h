// Signals: what is used of jax.scipy.signal, under its names and with its definitions: convolutions of arrays of
// several axes, z[k] = sum over j of x[j] y[k - j], and correlations, z[k] = sum over j of x[j + k] conj(y[j]).
//
// ConvolveMode (neap/numpy.h) says which k count along each axis of n and m elements: full, n + m - 1; same, the n in
// their middle; valid, the |n - m| + 1 for which the shorter array lies within, which must then be the shorter one
// along all axes. Integers become f32; half types are computed in f32 and rounded once. Values are compared with JAX's:
// tests/golden/more.json.
#pragma once

#include <neap/numpy.h>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap::signal {

/// Convolves two arrays of as many axes by Fourier transforms along these axes, all unless given; the others are a
/// batch, of equal extents. Errors are a few units in the last place of the largest result. Neither array is empty
/// (ShapeError).
Array fftconvolve(const Operand& x, const Operand& y, ConvolveMode mode = ConvolveMode::full, const Axes& axes = {});
/// Convolves two arrays of as many axes, one to three, by their sums of products (fftconvolve() is faster where both
/// are long). Neither is empty (ShapeError).
Array convolve(const Operand& x, const Operand& y, ConvolveMode mode = ConvolveMode::full);
/// Correlates such arrays: convolves x with y conjugated and turned round.
Array correlate(const Operand& x, const Operand& y, ConvolveMode mode = ConvolveMode::full);
/// Convolves two matrices as convolve() does; what is beyond their edges counts as 0.
Array convolve2d(const Operand& x, const Operand& y, ConvolveMode mode = ConvolveMode::full);
/// Correlates two matrices. As SciPy's and unlike correlate(), `same` begins one element later where y has an even
/// extent, and `valid` of a y larger than x is turned round and conjugated.
Array correlate2d(const Operand& x, const Operand& y, ConvolveMode mode = ConvolveMode::full);

}  // namespace neap::signal

#pragma GCC visibility pop
