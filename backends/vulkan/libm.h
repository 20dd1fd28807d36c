// The f64 maths that GLSL lacks.
//
// Within 1 ulp over the whole range (lgamma 2, digamma 2 or 2^-52 near its zeros), fmod
// and nextafter exact; special values, signed zeros and subnormals as in C99's Annex F. Test:
// tests/backends/vulkan_libm_test.cpp.
//
// Nothing is asked of the device but +, -, * of normal f64 numbers, rounded to nearest, and 64-bit integers: no fma
// (`precise` keeps products and sums apart), and subnormal operands and results go through integers, because devices
// may flush them. Division and square root may be off by some ulps where a pair of doubles carries the result: its
// second step repairs the first. The libm/*.inc files are plain GLSL in paragraphs, of which libm.cpp takes those in
// use.
#pragma once

#include <span>
#include <string>

#include "trace/scalar/scalar.h"

namespace neap::vk {

/// Returns the turns that the loops of a function take together, at most; 0 where it has none.
int loop_turns(scalar::Function function);

/// Returns GLSL of `double neap_<name>_f64(double x)`, or `(double x, double y)`, of each function (name: the
/// enumerator's), each once, behind the helpers that they need. The shader enables
/// GL_EXT_shader_explicit_arithmetic_types_int64 and GL_EXT_shader_explicit_arithmetic_types_float64 before it.
std::string libm_source(std::span<const scalar::Function> used);

}  // namespace neap::vk
