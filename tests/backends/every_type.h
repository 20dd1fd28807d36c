// What tests of both emitters go through: all element types, and reductions of them.
#pragma once

#include <neap/dtype.h>

#include "backends/kernel.h"

namespace neap::backends::test {

inline constexpr DType kAll[] = {DType::bool_, DType::i8,  DType::i16, DType::i32,  DType::i64, DType::u8, DType::u16,
                                 DType::u32,   DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64};

inline bool half(DType t) { return t == DType::f16 || t == DType::bf16; }

struct Sum {
  Combine combine;
  DType type, accumulator, output;
};

using enum Combine;
inline constexpr Sum kSums[] = {
    {add, f32, f64, f32},    {add, bf16, f64, bf16},     {add, f16, f64, f16},       {add, f64, f64, f64},
    {add, i32, i64, i32},    {add, u8, u64, u32},        {add, bool_, i64, i32},     {mul, f32, f64, f32},
    {mul, i16, i64, i16},    {max, f32, f32, f32},       {min, f32, f32, f32},       {max, f64, f64, f64},
    {max, bf16, f32, bf16},  {max, i8, i8, i8},          {min, u8, u8, u8},          {max, u64, u64, u64},
    {min, i64, i64, i64},    {any, bool_, bool_, bool_}, {all, bool_, bool_, bool_}, {argmax, f32, f32, i32},
    {argmin, f32, f32, i32}, {argmax, i16, i16, i32},    {argmin, f64, f64, i32},    {argmax, u8, u8, i32}};

}  // namespace neap::backends::test
