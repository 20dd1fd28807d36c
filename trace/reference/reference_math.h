// Scalar functions of the reference interpreter, named by the `reference` column of <neap/ops.def>.
// All are exact, or accurate to about an ulp of double. Integers wrap.
#pragma once

#include <neap/dtype.h>

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace neap::ref {

template <class T>
concept Integer = std::same_as<T, int64_t> || std::same_as<T, uint64_t>;

// The arithmetic operators; on integers through uint64_t, where overflow is defined.
inline double add(double x, double y) { return x + y; }
inline double subtract(double x, double y) { return x - y; }
inline double multiply(double x, double y) { return x * y; }
inline double negative(double x) { return -x; }
template <Integer T>
T add(T x, T y) {
  return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
template <Integer T>
T subtract(T x, T y) {
  return static_cast<T>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
template <Integer T>
T multiply(T x, T y) {
  return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}
template <Integer T>
T negative(T x) {
  return subtract(T{0}, x);
}

inline double abs(double x) { return std::fabs(x); }
inline int64_t abs(int64_t x) { return x < 0 ? negative(x) : x; }
inline uint64_t abs(uint64_t x) { return x; }

inline double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }  // NaN and zeros stay
inline int64_t sign(int64_t x) { return (x > 0) - (x < 0); }
inline uint64_t sign(uint64_t x) { return x > 0; }

inline double divide(double x, double y) { return x / y; }
inline int64_t divide(int64_t x, int64_t y) { return y == 0 ? -1 : y == -1 ? negative(x) : x / y; }
inline uint64_t divide(uint64_t x, uint64_t y) { return y == 0 ? ~uint64_t{0} : x / y; }

inline double rem(double x, double y) { return std::fmod(x, y); }
inline int64_t rem(int64_t x, int64_t y) { return y == 0 ? x : y == -1 ? 0 : x % y; }
inline uint64_t rem(uint64_t x, uint64_t y) { return y == 0 ? x : x % y; }

template <class T>
T maximum(T x, T y) {
  if (x != x) return x;
  return x >= y ? x : y;  // y where y is NaN
}
template <class T>
T minimum(T x, T y) {
  if (x != x) return x;
  return x <= y ? x : y;
}

double sigmoid(double x);
double erf_inv(double x);
double lgamma(double x);
/// Returns the derivative of lgamma; NaN at 0 and the negative integers.
double digamma(double x);
/// Returns the neighbour of x, towards y, among the values of `type`, a floating dtype that holds both.
double nextafter(double x, double y, DType type);

// Bit operations on the low `bits` bits, the width of the dtype (1 for bool). A shift count is read as unsigned.
inline bool bit_not(bool x) { return !x; }
template <Integer T>
T bit_not(T x) {
  return ~x;
}

constexpr uint64_t low_bits(uint64_t x, int bits) { return bits == 64 ? x : x & ((uint64_t{1} << bits) - 1); }

template <class T>
T shift_left(T x, T y, int bits) {
  const uint64_t count = low_bits(static_cast<uint64_t>(y), bits);
  return count >= static_cast<uint64_t>(bits) ? T{0} : static_cast<T>(static_cast<uint64_t>(x) << count);
}
template <class T>
T shift_right(T x, T y, int bits) {
  const uint64_t count = low_bits(static_cast<uint64_t>(y), bits);
  if (count >= static_cast<uint64_t>(bits)) return x < T{0} ? static_cast<T>(-1) : T{0};
  return static_cast<T>(x >> count);
}
template <class T>
T popcount(T x, int bits) {
  return static_cast<T>(std::popcount(low_bits(static_cast<uint64_t>(x), bits)));
}
template <class T>
T clz(T x, int bits) {
  return static_cast<T>(std::countl_zero(low_bits(static_cast<uint64_t>(x), bits)) - (64 - bits));
}

/// Computes threefry2x32 with 20 rounds: key (k0, k1), counter (c0, c1). Source: Salmon et al., SC 2011.
std::pair<uint32_t, uint32_t> threefry2x32(uint32_t k0, uint32_t k1, uint32_t c0, uint32_t c1);
/// Computes philox4x32 with 10 rounds. Source: the same.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter);

}  // namespace neap::ref
