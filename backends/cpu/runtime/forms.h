// How saved functions hand over the shape of a product, sort or factorization: as numbers, the same for every compiler.
#pragma once

#include <array>
#include <cstdint>

#include "core/factor/factor.h"
#include "planner/kernels/convolution_form.h"
#include "planner/kernels/cumulative_form.h"
#include "planner/kernels/dot_form.h"
#include "planner/kernels/fourier_form.h"
#include "planner/kernels/sort_form.h"

namespace neap::cpu::runtime {

// Static: files for several processors have these, and none of them may take another one's.

static inline std::array<int64_t, 12> encode(const planner::DotForm& f) {
  return {f.batch,
          f.m,
          f.n,
          f.k,
          f.lhs_transposed,
          f.rhs_transposed,
          static_cast<int64_t>(f.dtype),
          f.adds,
          f.whole_k,
          static_cast<int64_t>(f.lhs_narrow),
          static_cast<int64_t>(f.rhs_narrow),
          f.of_bf16};
}
static inline planner::DotForm decode_dot(const int64_t* n) {
  return {n[0],
          n[1],
          n[2],
          n[3],
          n[4] != 0,
          n[5] != 0,
          static_cast<DType>(n[6]),
          n[7] != 0,
          n[8],
          static_cast<planner::Narrow>(n[9]),
          static_cast<planner::Narrow>(n[10]),
          n[11] != 0};
}

static inline std::array<int64_t, 46> encode(const planner::ConvolutionForm& f) {
  std::array<int64_t, 46> n{static_cast<int64_t>(f.dtype), f.groups, f.batch, f.out, f.in, f.adds, f.whole_in};
  size_t i = 7;
  for (const planner::ConvolutionForm::Space& s : f.space) {
    for (const int64_t v : {s.extent, s.window, s.count, s.stride, s.dilation, s.low}) n[i++] = v;
  }
  for (const planner::ConvolutionForm::Strides* s : {&f.lhs, &f.rhs, &f.result}) {
    for (const int64_t v : {s->group, s->batch, s->out, s->in, s->space[0], s->space[1], s->space[2]}) n[i++] = v;
  }
  return n;
}
static inline planner::ConvolutionForm decode_convolution(const int64_t* n) {
  planner::ConvolutionForm f{static_cast<DType>(n[0]), n[1], n[2], n[3], n[4], {}, {}, {}, {}, n[5] != 0, n[6]};
  n += 7;
  for (planner::ConvolutionForm::Space& s : f.space) {
    s = {n[0], n[1], n[2], n[3], n[4], n[5]};
    n += 6;
  }
  for (planner::ConvolutionForm::Strides* s : {&f.lhs, &f.rhs, &f.result}) {
    *s = {n[0], n[1], n[2], n[3], {n[4], n[5], n[6]}};
    n += 7;
  }
  return f;
}

static inline std::array<int64_t, 6> encode(const planner::FourierForm& f) {
  return {static_cast<int64_t>(f.dtype), static_cast<int64_t>(f.kind), f.outer, f.length, f.inner, f.reverse};
}
static inline planner::FourierForm decode_fourier(const int64_t* n) {
  return {static_cast<DType>(n[0]), static_cast<planner::FourierKind>(n[1]), n[2], n[3], n[4], n[5] != 0};
}

static inline std::array<int64_t, 7> encode(const planner::SortForm& f) {
  return {f.rows, f.length, static_cast<int64_t>(f.dtype), f.indices, f.descending, f.start, f.limit};
}
static inline planner::SortForm decode_sort(const int64_t* n) {
  return {n[0], n[1], static_cast<DType>(n[2]), n[3] != 0, n[4] != 0, n[5], n[6]};
}

static inline std::array<int64_t, 6> encode(const planner::CumulativeForm& f) {
  return {f.outer, f.length, f.inner, static_cast<int64_t>(f.dtype), static_cast<int64_t>(f.kind), f.reverse};
}
static inline planner::CumulativeForm decode_cumulative(const int64_t* n) {
  return {n[0], n[1], n[2], static_cast<DType>(n[3]), static_cast<planner::Cumulation>(n[4]), n[5] != 0};
}

static inline std::array<int64_t, 12> encode(const factor::Form& f) {
  return {static_cast<int64_t>(f.kind),
          static_cast<int64_t>(f.dtype),
          f.batch,
          f.m,
          f.n,
          f.lower,
          f.transposed,
          f.unit,
          f.full,
          f.vectors,
          f.packed,
          f.one_factor};
}
static inline factor::Form decode_factor(const int64_t* n) {
  return {static_cast<factor::Kind>(n[0]),
          static_cast<DType>(n[1]),
          n[2],
          n[3],
          n[4],
          n[5] != 0,
          n[6] != 0,
          n[7] != 0,
          n[8] != 0,
          n[9] != 0,
          n[10] != 0,
          n[11] != 0};
}

}  // namespace neap::cpu::runtime
