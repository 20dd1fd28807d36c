// Dtypes: names, sizes, JAX's promotions, weak scalars, and how half types round.
#include <neap/dtype.h>

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "core/dispatch.h"

namespace neap {
namespace {

constexpr DType kAll[] = {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128};

TEST(DType, NamesRoundTrip) {
  for (const DType t : kAll) EXPECT_EQ(parse_dtype(name(t)), t);
  EXPECT_EQ(name(bool_), "bool");
  EXPECT_EQ(name(bf16), "bf16");
  EXPECT_EQ(parse_dtype("float32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(DType, DispatchAgreesWithSizeKindAndDtypeOf) {
  for (const DType t : kAll) {
    dispatch_all(t, [&]<class T>() {
      EXPECT_EQ(sizeof(T), size_of(t));
      EXPECT_EQ(dtype_of<T>(), t);
      constexpr bool kComplex = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
      EXPECT_EQ(is_complex(t), kComplex) << name(t);
      EXPECT_EQ(is_inexact(t), !std::is_integral_v<T>) << name(t);
      EXPECT_EQ(is_integer(t), (std::is_integral_v<T> && !std::is_same_v<T, bool>)) << name(t);
      EXPECT_EQ(is_float(t), !std::is_integral_v<T> && !kComplex) << name(t);
      EXPECT_EQ(is_signed(t), std::is_integral_v<T> && std::is_signed_v<T>) << name(t);
      EXPECT_EQ(is_unsigned(t), (std::is_unsigned_v<T> && !std::is_same_v<T, bool>)) << name(t);
    });
  }
  EXPECT_EQ(dtype_of<long long>(), i64);
  EXPECT_EQ(dtype_of<unsigned long>(), u64);
  EXPECT_EQ(dispatch(f16, []<class T>() { return sizeof(T); }), 2u);
}

// jax.numpy.promote_types without 64-bit mode's widening, row by row; the lattice's f* is written as f32.
TEST(DType, PromotionIsJaxs) {
  constexpr DType kTable[kDTypeCount][kDTypeCount] = {
      //          bool  i8    i16   i32   i64   u8    u16   u32   u64   f16   bf16  f32  f64   c64  c128
      /* bool */ {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128},
      /* i8   */ {i8, i8, i16, i32, i64, i16, i32, i64, f32, f16, bf16, f32, f64, c64, c128},
      /* i16  */ {i16, i16, i16, i32, i64, i16, i32, i64, f32, f16, bf16, f32, f64, c64, c128},
      /* i32  */ {i32, i32, i32, i32, i64, i32, i32, i64, f32, f16, bf16, f32, f64, c64, c128},
      /* i64  */ {i64, i64, i64, i64, i64, i64, i64, i64, f32, f16, bf16, f32, f64, c64, c128},
      /* u8   */ {u8, i16, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128},
      /* u16  */ {u16, i32, i32, i32, i64, u16, u16, u32, u64, f16, bf16, f32, f64, c64, c128},
      /* u32  */ {u32, i64, i64, i64, i64, u32, u32, u32, u64, f16, bf16, f32, f64, c64, c128},
      /* u64  */ {u64, f32, f32, f32, f32, u64, u64, u64, u64, f16, bf16, f32, f64, c64, c128},
      /* f16  */ {f16, f16, f16, f16, f16, f16, f16, f16, f16, f16, f32, f32, f64, c64, c128},
      /* bf16 */ {bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16, f32, bf16, f32, f64, c64, c128},
      /* f32  */ {f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f64, c64, c128},
      /* f64  */ {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, c128, c128},
      /* c64  */ {c64, c64, c64, c64, c64, c64, c64, c64, c64, c64, c64, c64, c128, c64, c128},
      /* c128 */ {c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128},
  };
  for (const DType a : kAll) {
    for (const DType b : kAll) {
      EXPECT_EQ(promote(a, b), kTable[static_cast<int>(a)][static_cast<int>(b)]) << name(a) << " " << name(b);
    }
  }
}

TEST(DType, ScalarsAreWeak) {
  for (const DType t : kAll) {
    EXPECT_EQ(promote_weak(t, WeakKind::bool_), t);
    EXPECT_EQ(promote_weak(t, WeakKind::integer), t == bool_ ? i32 : t);
    EXPECT_EQ(promote_weak(t, WeakKind::floating), is_inexact(t) ? t : f32);
    EXPECT_EQ(promote_weak(t, WeakKind::complex), t == f64 || t == c128 ? c128 : c64);
    EXPECT_EQ(to_float_dtype(t), is_inexact(t) ? t : f32);
  }
  EXPECT_EQ(default_dtype(WeakKind::bool_), bool_);
  EXPECT_EQ(default_dtype(WeakKind::integer), i32);
  EXPECT_EQ(default_dtype(WeakKind::floating), f32);
  EXPECT_EQ(default_dtype(WeakKind::complex), c64);
  EXPECT_EQ(real_dtype(c64), f32);
  EXPECT_EQ(real_dtype(c128), f64);
  EXPECT_EQ(real_dtype(bf16), bf16);
}

// The value of a half-precision encoding, from the definition of the format and nothing else.
double value_of(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(bits & ((1u << mantissa_bits) - 1));
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa_bits)
                                         : std::ldexp(fraction + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return bits >> (exponent_bits + mantissa_bits) ? -magnitude : magnitude;
}

// Checks every finite encoding, and every boundary between two neighbours: the tie goes to even, and the closest
// floats on its two sides to the nearer neighbour. That is round-to-nearest-even on all floats, by monotonicity.
template <class Half>
void check_rounding(int exponent_bits, int mantissa_bits) {
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    const double value = value_of(bits, exponent_bits, mantissa_bits);
    ASSERT_EQ(static_cast<float>(Half::from_bits(bits)), value);
    ASSERT_EQ(Half(static_cast<float>(value)).bits, bits);
    ASSERT_EQ(Half(static_cast<float>(-value)).bits, bits | 0x8000u);
    // The successor of the largest is what it would be with one more exponent: from half way on, infinity.
    const double next = value_of(bits + 1, exponent_bits, mantissa_bits);
    const double middle = value + (next - value) / 2;
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (const float sign : {1.0f, -1.0f}) {
      const uint32_t sign_bit = sign < 0 ? 0x8000u : 0u;
      const auto tie = static_cast<float>(middle);
      ASSERT_EQ(Half(sign * tie).bits, even | sign_bit) << bits;
      ASSERT_EQ(Half(sign * std::nextafterf(tie, 0.0f)).bits, bits | sign_bit) << bits;
      ASSERT_EQ(Half(sign * std::nextafterf(tie, INFINITY)).bits, (bits + 1) | sign_bit) << bits;
      ASSERT_EQ(Half::from_double(sign * middle).bits, even | sign_bit) << bits;
      ASSERT_EQ(Half::from_double(sign * std::nextafter(middle, 0.0)).bits, bits | sign_bit) << bits;
      ASSERT_EQ(Half::from_double(sign * std::nextafter(middle, INFINITY)).bits, (bits + 1) | sign_bit) << bits;
    }
  }
  EXPECT_EQ(static_cast<float>(Half::from_bits(infinity)), INFINITY);
  EXPECT_EQ(Half(INFINITY).bits, infinity);
  EXPECT_EQ(Half(-INFINITY).bits, infinity | 0x8000u);
  EXPECT_EQ(Half::from_double(1e300).bits, infinity);
  EXPECT_EQ(Half::from_double(-1e-300).bits, 0x8000u);
  for (uint32_t bits = infinity + 1; bits < 0x8000u; ++bits) {
    ASSERT_TRUE(std::isnan(static_cast<float>(Half::from_bits(bits))));
    ASSERT_TRUE(std::isnan(static_cast<float>(Half(static_cast<float>(Half::from_bits(bits))))));
  }
  // A NaN whose payload lies in the bits that are cut off must not become infinity.
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Half::from_double(std::numeric_limits<double>::quiet_NaN()))));
}

TEST(Half, Float16RoundsToNearestEven) { check_rounding<float16>(5, 10); }
TEST(Half, Bfloat16RoundsToNearestEven) { check_rounding<bfloat16>(8, 7); }

TEST(Half, IsConstexpr) {
  static_assert(float16(1.5f).bits == 0x3e00);
  static_assert(static_cast<float>(bfloat16(-2.0f)) == -2.0f);
  static_assert(!std::is_convertible_v<float, float16> && std::is_convertible_v<float16, float>);
}

}  // namespace
}  // namespace neap
