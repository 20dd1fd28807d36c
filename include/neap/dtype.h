// Element types: the enumeration, the two half types, and the promotion rules (JAX's lattice).
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// DType is an element type. Each has a name of its own in namespace neap, too: neap::f32.
enum class DType : uint8_t { bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128 };

inline constexpr int kDTypeCount = 15;  // the number of dtypes

inline constexpr DType bool_ = DType::bool_;
inline constexpr DType i8 = DType::i8;
inline constexpr DType i16 = DType::i16;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i64 = DType::i64;
inline constexpr DType u8 = DType::u8;
inline constexpr DType u16 = DType::u16;
inline constexpr DType u32 = DType::u32;
inline constexpr DType u64 = DType::u64;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType c64 = DType::c64;    // std::complex<float>: real part, imaginary part
inline constexpr DType c128 = DType::c128;  // std::complex<double>

/// Returns the bytes of one element; bool is one byte holding 0 or 1.
constexpr size_t size_of(DType t) {
  constexpr uint8_t kSize[kDTypeCount] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  return kSize[static_cast<int>(t)];
}

/// Returns "bool", "i8", ..., "bf16", "f64", "c64", "c128".
std::string_view name(DType t);
/// Inverts name(); returns nullopt for anything else.
std::optional<DType> parse_dtype(std::string_view text);

/// Returns whether it is a real floating type.
constexpr bool is_float(DType t) { return t >= DType::f16 && t <= DType::f64; }
/// Returns whether it is a complex type.
constexpr bool is_complex(DType t) { return t >= DType::c64; }
/// Returns whether it is real or complex floating: what has derivatives.
constexpr bool is_inexact(DType t) { return t >= DType::f16; }
/// Returns whether it is a signed integer.
constexpr bool is_signed(DType t) { return t >= DType::i8 && t <= DType::i64; }
/// Returns whether it is an unsigned integer; bool is none.
constexpr bool is_unsigned(DType t) { return t >= DType::u8 && t <= DType::u64; }
/// Returns whether it is an integer; bool is none.
constexpr bool is_integer(DType t) { return is_signed(t) || is_unsigned(t); }

/// Returns the dtype in which an operation on arrays of dtypes `a` and `b` computes. It is JAX's lattice: u64 with a
/// signed integer is f32, bf16 with f16 is f32, an integer with a float is that float, c64 with f64 is c128.
DType promote(DType a, DType b);

/// WeakKind is what a C++ scalar is before it meets an array: it has a kind and no width.
enum class WeakKind : uint8_t { bool_, integer, floating, complex };

/// Returns the dtype in which an array of dtype `array` and a C++ scalar of this kind compute: the array's own, unless
/// the scalar is of a higher kind (bool < integer < floating < complex), then i32, f32 or c64 (of f64: c128).
DType promote_weak(DType array, WeakKind scalar);
/// Returns the dtype of a scalar that meets no array: bool, i32, f32, c64.
DType default_dtype(WeakKind kind);
/// Returns the dtype in which a function such as sin computes: floats and complex stay, bool and every integer become
/// f32.
constexpr DType to_float_dtype(DType t) { return is_inexact(t) ? t : DType::f32; }
/// Returns the dtype of the parts of a complex number: c64 has f32, c128 f64; others are their own.
constexpr DType real_dtype(DType t) { return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t; }
/// Returns the complex dtype that holds numbers of this one: f64 and c128 give c128, others c64.
constexpr DType complex_dtype(DType t) { return t == DType::f64 || t == DType::c128 ? DType::c128 : DType::c64; }

namespace detail {

constexpr uint16_t f16_bits(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (x >> 16) & 0x8000u;
  const uint32_t a = x & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((a >> 13) & 0x3ffu));
  if (a >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity
  if (a < 0x38800000u) {  // subnormal: the ulp of 0.5f is that of f16 there
    const float shifted = std::bit_cast<float>(a) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign | ((a + 0xc8000fffu + ((a >> 13) & 1u)) >> 13));
}

constexpr float f16_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t a = bits & 0x7fffu;
  if (a >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((a & 0x3ffu) << 13));
  if (a >= 0x400u) return std::bit_cast<float>(sign | ((a << 13) + 0x38000000u));
  const float magnitude = static_cast<float>(a) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

constexpr uint16_t bf16_bits(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

/// Rounds to odd, so that rounding the result once more, to a half type, equals rounding `value` directly.
constexpr float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  if (!(back != value) || value != value) return nearest;
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (bits & 1u) return nearest;
  const bool too_far = value > 0 ? back > value : back < value;  // |nearest| > |value|: the odd neighbour is below
  return std::bit_cast<float>(too_far ? bits - 1u : bits + 1u);
}

}  // namespace detail

/// IEEE binary16. Conversion from float rounds to nearest even; NaN stays NaN. Arithmetic happens in float.
struct float16 {
  uint16_t bits = 0;  // as they lie in memory

  constexpr float16() = default;
  constexpr explicit float16(float value) : bits(detail::f16_bits(value)) {}
  constexpr operator float() const { return detail::f16_value(bits); }
  /// Makes the number with these bits.
  static constexpr float16 from_bits(uint16_t b) {
    float16 h;
    h.bits = b;
    return h;
  }
  /// Rounds once, where float16(float(value)) would round twice.
  static constexpr float16 from_double(double value) { return float16(detail::round_to_odd(value)); }
};

/// The upper half of an IEEE binary32. Conversion from float rounds to nearest even; NaN stays NaN.
struct bfloat16 {
  uint16_t bits = 0;  // as they lie in memory

  constexpr bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits(detail::bf16_bits(value)) {}
  constexpr operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  /// Makes the number with these bits.
  static constexpr bfloat16 from_bits(uint16_t b) {
    bfloat16 h;
    h.bits = b;
    return h;
  }
  /// Rounds once, where bfloat16(float(value)) would round twice.
  static constexpr bfloat16 from_double(double value) { return bfloat16(detail::round_to_odd(value)); }
};

/// The dtype of a C++ element type: dtype_of<float>() is f32. Integers go by size and sign, so long and long long
/// agree.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return DType::bool_;
  } else if constexpr (std::is_same_v<U, float16>) {
    return DType::f16;
  } else if constexpr (std::is_same_v<U, bfloat16>) {
    return DType::bf16;
  } else if constexpr (std::is_same_v<U, float>) {
    return DType::f32;
  } else if constexpr (std::is_same_v<U, double>) {
    return DType::f64;
  } else if constexpr (std::is_same_v<U, std::complex<float>>) {
    return DType::c64;
  } else if constexpr (std::is_same_v<U, std::complex<double>>) {
    return DType::c128;
  } else {
    static_assert(
        std::is_integral_v<U> && sizeof(U) <= 8,
        "neap: not an element type: expected bool, an integer of up to 64 bits, float, double, float16, bfloat16 or "
        "a std::complex of float or double");
    constexpr int kLog = std::countr_zero(sizeof(U));
    return static_cast<DType>(static_cast<int>(std::is_signed_v<U> ? DType::i8 : DType::u8) + kLog);
  }
}

}  // namespace neap

#pragma GCC visibility pop
