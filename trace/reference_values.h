// How the reference interpreter reads and writes elements. Only reference*.cpp include this.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "core/dispatch.h"
#include "trace/reference.h"

namespace neap::trace {

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// The type in which the elements of a dtype are computed: double, int64_t, uint64_t or bool.
template <class T>
using Compute = std::conditional_t<
    kIsFloat<T>, double,
    std::conditional_t<std::same_as<T, bool>, bool, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>>;

/// The type in which sums and products of T accumulate.
template <class T>
using Accumulator = std::conditional_t<std::same_as<T, double>, long double, Compute<T>>;

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

/// An integer as a double that rounds to every narrower float as the integer itself does: what a double cannot hold
/// becomes one sticky bit, far below the digits of those floats.
inline double sticky_double(bool negative, uint64_t magnitude) {
  if (magnitude >> 53 && (magnitude & 0x7ff)) magnitude = (magnitude & ~uint64_t{0x7ff}) | 0x800;
  const auto value = static_cast<double>(magnitude);
  return negative ? -value : value;
}

/// Any element to any dtype's C++ type, by the rules of op convert: one rounding; floats to integers truncate and
/// saturate, NaN is 0; integers wrap; to bool by != 0.
template <class To, class From>
To convert_element(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (std::same_as<From, float16> || std::same_as<From, bfloat16>) {
    return convert_element<To>(static_cast<float>(x));
  } else if constexpr (std::same_as<To, bool>) {
    return x != From{0};
  } else if constexpr (std::same_as<To, float16> || std::same_as<To, bfloat16>) {
    if constexpr (std::is_integral_v<From>) {
      const bool negative = x < From{0};
      const auto bits = static_cast<uint64_t>(x);
      return To::from_double(sticky_double(negative, negative ? 0 - bits : bits));
    } else {
      return To::from_double(static_cast<double>(x));
    }
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    // Both bounds are powers of two, or 0, and so exact.
    constexpr double kLow = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double kPastHigh = 2.0 * static_cast<double>(uint64_t{1} << (std::numeric_limits<To>::digits - 1));
    if (x < kLow) return std::numeric_limits<To>::min();
    if (x >= kPastHigh) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

/// All elements, in the type that computes them.
template <class C>
std::vector<C> decode(const HostValue& value) {
  std::vector<C> out(static_cast<size_t>(value.aval.size()));
  dispatch(value.aval.dtype, [&]<class T>() {
    if constexpr (std::same_as<Compute<T>, C>) {
      const auto from = elements<T>(value);
      for (size_t i = 0; i < from.size(); ++i) out[i] = static_cast<C>(from[i]);
    } else {
      NEAP_CHECK(false, "{} is computed in another type", to_string(value.aval));
    }
  });
  return out;
}

/// The inverse: each element rounded once to the dtype, integers wrapped.
template <class C>
HostValue encode(const std::vector<C>& from, Aval aval) {
  HostValue value = make_value(std::move(aval));
  dispatch(value.aval.dtype, [&]<class T>() {
    const auto out = elements<T>(value);
    for (size_t i = 0; i < out.size(); ++i) out[i] = convert_element<T>(static_cast<C>(from[i]));
  });
  return value;
}

/// Integer elements of any width as int64_t; those of u64 above its range as its maximum.
std::vector<int64_t> decode_integers(const HostValue& value);

/// Copies element j of `from` to element i of `to`; equal dtypes.
inline void copy_element(HostValue& to, int64_t i, const HostValue& from, int64_t j) {
  const size_t width = size_of(to.aval.dtype);
  std::memcpy(to.data->data() + static_cast<size_t>(i) * width, from.data->data() + static_cast<size_t>(j) * width,
              width);
}

/// The position of flat row-major index i.
inline void unravel(int64_t i, const Shape& shape, std::vector<int64_t>& position) {
  position.resize(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; i /= shape[axis]) position[axis] = i % shape[axis];
}

inline int64_t dot(std::span<const int64_t> position, std::span<const int64_t> strides) {
  int64_t sum = 0;
  for (size_t i = 0; i < position.size(); ++i) sum += position[i] * strides[i];
  return sum;
}

/// The flat offsets, in a row-major array of this shape, of all positions along some axes (the others at 0), in
/// row-major order of `axes`.
std::vector<int64_t> offsets_along(const Shape& shape, const Ints& axes);
/// The axes of 0 .. ndim-1 that are not in `axes`.
Ints other_axes(int64_t ndim, const Ints& axes);

// The evaluators, one for each family; `out` is the inferred aval of the result.
HostValue reference_elementwise(Op op, std::span<const HostValue> in, Aval out);
HostValue reference_convert(Op op, const HostValue& x, Aval out);
HostValue reference_leaf(Op op, const Attrs& attrs, Aval out);
HostValue reference_layout(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out);
HostValue reference_reduce(Op op, const HostValue& x, const Attrs& attrs, Aval out);
HostValue reference_argreduce(Op op, const HostValue& x, const Attrs& attrs, Aval out);
HostValue reference_dot(const HostValue& lhs, const HostValue& rhs, const Attrs& attrs, Aval out);
HostValue reference_gather(const HostValue& x, const HostValue& indices, const Attrs& attrs, Aval out);
HostValue reference_scatter(Op op, std::span<const HostValue> in, const Attrs& attrs);
HostValue reference_random(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out);
std::vector<HostValue> reference_scan(std::span<const HostValue> in, const Attrs& attrs, std::vector<Aval> out);

}  // namespace neap::trace
