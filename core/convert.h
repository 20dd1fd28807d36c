// Converts one element from one C++ element type to another, as the op convert does.
#pragma once

#include <neap/dtype.h>

#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace neap {

// Returns an integer as a double that rounds to every narrower float as the integer itself does: bits that a double
// cannot hold become one sticky bit, far below the digits of those floats.
inline double sticky_double(bool negative, uint64_t magnitude) {
  if (magnitude >> 53 && (magnitude & 0x7ff)) magnitude = (magnitude & ~uint64_t{0x7ff}) | 0x800;
  const auto value = static_cast<double>(magnitude);
  return negative ? -value : value;
}

template <class T>
inline constexpr bool kIsComplex = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

// Converts any element to any dtype's C++ type by the rules of op convert: it rounds once; floats to integers truncate
// and saturate, NaN becomes 0; integers wrap; bool is x != 0; complex to real takes the real part.
template <class To, class From>
To convert_element(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (kIsComplex<To> && kIsComplex<From>) {
    return To(x);
  } else if constexpr (kIsComplex<To>) {
    return To(convert_element<typename To::value_type>(x));
  } else if constexpr (kIsComplex<From> && std::same_as<To, bool>) {
    return x != From{};
  } else if constexpr (kIsComplex<From>) {
    return convert_element<To>(x.real());
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

}  // namespace neap
