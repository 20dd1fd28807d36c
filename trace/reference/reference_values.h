// How the reference interpreter reads and writes elements. Only trace/reference/*.cpp and tests include this.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "core/convert.h"
#include "core/dispatch.h"
#include "trace/reference/reference.h"

namespace neap::tracing {

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// Compute is the type in which the elements of a dtype are computed: double, std::complex<double>, int64_t, uint64_t
/// or bool.
template <class T>
using Compute = std::conditional_t<
    kIsComplex<T>, std::complex<double>,
    std::conditional_t<
        kIsFloat<T>, double,
        std::conditional_t<std::same_as<T, bool>, bool, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>>>;

/// Accumulator is the type in which sums and products of T accumulate.
template <class T>
using Accumulator = std::conditional_t<std::same_as<T, double>, long double, Compute<T>>;

/// These add and multiply; integers wrap.
template <class A>
A sum(A x, A y) {
  if constexpr (std::is_floating_point_v<A> || kIsComplex<A>)
    return x + y;
  else
    return static_cast<A>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
template <class A>
A product(A x, A y) {
  if constexpr (kIsComplex<A>)
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  else if constexpr (std::is_floating_point_v<A>)
    return x * y;
  else
    return static_cast<A>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

template <class T>
std::span<const T> elements(const HostValue& value) {
  return {value.data->as<T>(), static_cast<size_t>(value.aval.size())};
}
template <class T>
std::span<T> elements(HostValue& value) {
  return {value.data->as<T>(), static_cast<size_t>(value.aval.size())};
}

inline HostValue make_value(Aval aval) {
  const size_t bytes = aval.bytes();
  return {std::move(aval), allocate(bytes, "reference")};
}
inline HostValue copy_of(const HostValue& value) {
  HostValue copy = make_value(value.aval);
  std::memcpy(copy.data->data(), value.data->data(), value.aval.bytes());
  return copy;
}

/// Returns all elements, in the type that computes them.
template <class C>
std::vector<C> decode(const HostValue& value) {
  std::vector<C> out(static_cast<size_t>(value.aval.size()));
  dispatch_all(value.aval.dtype, [&]<class T>() {
    if constexpr (std::same_as<Compute<T>, C>) {
      const auto from = elements<T>(value);
      for (size_t i = 0; i < from.size(); ++i) out[i] = static_cast<C>(from[i]);
    } else {
      NEAP_CHECK(false, "{} is computed in another type", to_string(value.aval));
    }
  });
  return out;
}

/// Writes elements back: each is rounded once to the dtype, integers wrap.
template <class C>
HostValue encode(const std::vector<C>& from, Aval aval) {
  HostValue value = make_value(std::move(aval));
  dispatch_all(value.aval.dtype, [&]<class T>() {
    const auto out = elements<T>(value);
    for (size_t i = 0; i < out.size(); ++i) out[i] = convert_element<T>(static_cast<C>(from[i]));
  });
  return value;
}

/// Returns integer elements of any width as int64_t; those of u64 above its range as its maximum.
std::vector<int64_t> decode_integers(const HostValue& value);

/// Copies element j of `from` to element i of `to`, which have equal dtypes.
inline void copy_element(HostValue& to, int64_t i, const HostValue& from, int64_t j) {
  const size_t width = size_of(to.aval.dtype);
  std::memcpy(to.data->data() + static_cast<size_t>(i) * width, from.data->data() + static_cast<size_t>(j) * width,
              width);
}

/// Sets `position` to that of flat row-major index i.
inline void unravel(int64_t i, const Shape& shape, std::vector<int64_t>& position) {
  position.resize(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; i /= shape[axis]) position[axis] = i % shape[axis];
}

inline int64_t dot(std::span<const int64_t> position, std::span<const int64_t> strides) {
  int64_t sum = 0;
  for (size_t i = 0; i < position.size(); ++i) sum += position[i] * strides[i];
  return sum;
}

/// Returns the flat offsets, in a row-major array of this shape, of all positions along some axes (the others at 0), in
/// row-major order of `axes`.
std::vector<int64_t> offsets_along(const Shape& shape, const Ints& axes);
/// Returns the axes of 0 .. ndim-1 that are not in `axes`.
Ints other_axes(int64_t ndim, const Ints& axes);

// The evaluators, one for each family; `out` is the inferred aval of the result.
HostValue reference_elementwise(Op op, std::span<const HostValue> in, Aval out);
HostValue reference_convert(Op op, const HostValue& x, Aval out);
HostValue reference_complex(Op op, std::span<const HostValue> in, Aval out);
/// Evaluates elementwise ops on complex numbers.
HostValue reference_complex_elementwise(Op op, std::span<const HostValue> in, Aval out);
HostValue reference_fft(Op op, const HostValue& x, const Attrs& attrs, Aval out);
HostValue reference_leaf(Op op, const Attrs& attrs, Aval out);
HostValue reference_layout(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out);
HostValue reference_reduce(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out);
HostValue reference_argreduce(Op op, const HostValue& x, const Attrs& attrs, Aval out);
HostValue reference_sort(Op op, const HostValue& x, const Attrs& attrs, Aval out);
HostValue reference_cumulative(Op op, const HostValue& x, const Attrs& attrs);
HostValue reference_dot(std::span<const HostValue> in, const Attrs& attrs, Aval out);
HostValue reference_convolution(std::span<const HostValue> in, const Attrs& attrs, Aval out);
HostValue reference_factor(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out);
HostValue reference_gather(const HostValue& x, const HostValue& indices, const Attrs& attrs, Aval out);
HostValue reference_scatter(Op op, std::span<const HostValue> in, const Attrs& attrs);
HostValue reference_random(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out);
std::vector<HostValue> reference_loop(Op op, std::span<const HostValue> in, const Attrs& attrs, std::vector<Aval> out);
std::vector<HostValue> reference_cond(std::span<const HostValue> in, const Attrs& attrs);

}  // namespace neap::tracing
