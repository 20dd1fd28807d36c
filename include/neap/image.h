// Images: jax.image, under its names and with its definitions. Pixels are squares: that of index i reaches from i to
// i + 1, and its centre is i + 0.5.
//
// Values are compared with JAX's: tests/golden/more.json.
#pragma once

#include <neap/ops.h>

#include <cstdint>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap::image {

/// Method says how a pixel is made of those around its centre: the nearest, or a mean weighted by a kernel: a triangle
/// (linear), Keys' cubic with a = -0.5, or a windowed sinc of radius 3 or 5. JAX's `area` and `cubic-pytorch` are not
/// there.
enum class Method : uint8_t { nearest, linear, cubic, lanczos3, lanczos5 };

/// Returns x resized to `shape`, which has all axes of x; axes of equal extent are as they were. antialias: where an
/// axis becomes shorter the kernel is as much wider. Weights of what lies inside add up to 1, so that edges keep their
/// brightness. Integers become f32 (nearest: any dtype stays); half types are computed in f32 and rounded once.
/// ShapeError where the number of axes differs, or an axis without elements would have some.
Array resize(const Operand& x, const Shape& shape, Method method, bool antialias = true);

/// Returns an image of `shape` whose pixel at p, along each of the axes spatial_dims, shows x at (p - translation) /
/// scale; 0 where that is outside of x. scale and translation are arrays [spatial_dims] of numbers, or one for all;
/// they may be traced, and have derivatives. The other axes are those of x. antialias: where scale is below 1 the
/// kernel is as much wider. OptionError for Method::nearest.
Array scale_and_translate(const Operand& x, const Shape& shape, const Shape& spatial_dims, const Operand& scale,
                          const Operand& translation, Method method, bool antialias = true);

}  // namespace neap::image

#pragma GCC visibility pop
