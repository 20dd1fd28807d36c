// Calls templates with the C++ type of a dtype that is known at run time.
#pragma once

#include <neap/dtype.h>

#include <utility>

#include "core/check.h"

namespace neap {

// Calls f.operator()<T>() with the C++ element type of `t` (bool, int8_t, ..., float16, bfloat16, float, double) and
// returns its result: dispatch(t, [&]<class T>() { ... }).
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
    case DType::bool_: return f.template operator()<bool>();
    case DType::i8: return f.template operator()<int8_t>();
    case DType::i16: return f.template operator()<int16_t>();
    case DType::i32: return f.template operator()<int32_t>();
    case DType::i64: return f.template operator()<int64_t>();
    case DType::u8: return f.template operator()<uint8_t>();
    case DType::u16: return f.template operator()<uint16_t>();
    case DType::u32: return f.template operator()<uint32_t>();
    case DType::u64: return f.template operator()<uint64_t>();
    case DType::f16: return f.template operator()<float16>();
    case DType::bf16: return f.template operator()<bfloat16>();
    case DType::f32: return f.template operator()<float>();
    case DType::f64: return f.template operator()<double>();
    case DType::c64:
    case DType::c128: break;
  }
  detail::check_failed("dtype is real", std::source_location::current());
}

// Does the same for complex dtypes too: std::complex<float> and std::complex<double>.
template <class F>
decltype(auto) dispatch_all(DType t, F&& f) {
  if (t == DType::c64) return f.template operator()<std::complex<float>>();
  if (t == DType::c128) return f.template operator()<std::complex<double>>();
  return dispatch(t, std::forward<F>(f));
}

}  // namespace neap
