#include <neap/dtype.h>

#include <algorithm>
#include <array>

#include "core/check.h"

namespace neap {

namespace {
constexpr std::array<std::string_view, kDTypeCount> kNames = {"bool", "i8",  "i16",  "i32", "i64", "u8",  "u16", "u32",
                                                              "u64",  "f16", "bf16", "f32", "f64", "c64", "c128"};

DType wider(DType a, DType b) { return size_of(a) >= size_of(b) ? a : b; }

DType promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return wider(a, b);
  const DType s = is_signed(a) ? a : b;
  switch (is_signed(a) ? b : a) {
    case DType::u8: return wider(s, DType::i16);
    case DType::u16: return wider(s, DType::i32);
    case DType::u32: return DType::i64;
    default: return DType::f32;  // no integer holds both u64 and a negative number
  }
}
}  // namespace

std::string_view name(DType t) { return kNames[static_cast<size_t>(t)]; }

std::optional<DType> parse_dtype(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<DType>(found - kNames.begin());
}

DType promote(DType a, DType b) {
  if (a == b || b == DType::bool_) return a;
  if (a == DType::bool_) return b;
  if (is_complex(a) || is_complex(b)) return wider(complex_dtype(a), complex_dtype(b));
  if (is_float(a) && is_float(b)) return size_of(a) == size_of(b) ? DType::f32 : wider(a, b);  // f16 with bf16
  if (is_float(a)) return a;
  if (is_float(b)) return b;
  return promote_integers(a, b);
}

DType promote_weak(DType array, WeakKind scalar) {
  switch (scalar) {
    case WeakKind::bool_: return array;
    case WeakKind::integer: return array == DType::bool_ ? DType::i32 : array;
    case WeakKind::floating: return to_float_dtype(array);
    case WeakKind::complex: return complex_dtype(array);
  }
  NEAP_CHECK(false, "weak kind {}", static_cast<int>(scalar));
}

DType default_dtype(WeakKind kind) { return promote_weak(DType::bool_, kind); }

}  // namespace neap
