#include "backends/cpu/fourier.h"

#include <cmath>
#include <complex>
#include <initializer_list>
#include <numbers>

#include "core/isa.h"

namespace neap::cpu {

#define NEAP_DECLARE(isa)                                                                                  \
  namespace isa {                                                                                          \
  void transform_f32(const planner::FourierForm& form, const std::byte* tables, const void* in, void* out, \
                     std::byte* scratch);                                                                  \
  void transform_f64(const planner::FourierForm& form, const std::byte* tables, const void* in, void* out, \
                     std::byte* scratch);                                                                  \
  }
NEAP_ISAS(NEAP_DECLARE)
#undef NEAP_DECLARE

namespace {

using planner::FourierForm;
using planner::FourierLayout;
using planner::Radices;

// exp(-2 pi i k / n). It turns by whole quarters, which is exact, and by at most an eighth: transforms of small
// integers are integers.
std::complex<double> root_of_unity(int64_t k, int64_t n) {
  k %= n;
  const int64_t quarters = (8 * k + n) / (2 * n), past = 4 * k - quarters * n;  // n: a quarter
  const double angle = static_cast<double>(past) / static_cast<double>(n) * (std::numbers::pi / 2);
  const bool eighth = 2 * past == -n;  // where sine and cosine are one, so that roots mirror one another to the bit
  const double c = eighth ? 1 / std::numbers::sqrt2 : std::cos(angle), s = eighth ? -c : std::sin(angle);
  switch (quarters % 4) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
  }
}

// Roots of the passes (backends/cpu/isa/fourier.cpp) by which n points are transformed.
template <class T>
void put_roots(int64_t n, T* to) {
  const auto put = [&](std::complex<double> root) {
    *to++ = static_cast<T>(root.real());
    *to++ = static_cast<T>(root.imag());
  };
  int64_t block = n;
  for (const int64_t radix : planner::radices_of(n)) {
    const int64_t apart = block / radix;
    if (radix > 5 && radix != 8) {
      for (int64_t k = 0; k < radix; ++k) put(root_of_unity(k, radix));
    }
    for (int64_t j = 0; apart > 1 && j < apart; ++j) {
      for (int64_t p = 1; p < radix; ++p) put(root_of_unity(j * p, block));
    }
    block = apart;
  }
}

// Where the passes, by one radix after the other, leave result k of n: by its remainder of the first, then by that of
// the quotient, and so on.
void put_places(int64_t n, int32_t* to, std::initializer_list<Radices> lists) {
  for (int64_t k = 0; k < n; ++k) {
    int64_t place = 0, rest = k, block = n;
    for (const Radices& radices : lists) {
      for (const int64_t radix : radices) {
        block /= radix;
        place += rest % radix * block;
        rest /= radix;
      }
    }
    to[k] = static_cast<int32_t>(place);
  }
}

template <class T>
void put_turns(const FourierForm& form, const FourierLayout& layout, T* to) {
  for (int64_t k = 0; k < layout.rows; ++k, to += 2 * layout.turn_row) {
    for (int64_t j = 0; j < layout.columns; ++j) {
      const std::complex<double> root = root_of_unity(j * k, form.points());
      to[j] = static_cast<T>(root.real()), to[layout.turn_row + j] = static_cast<T>(root.imag());
    }
  }
}

// In the direction of the exponent.
template <class T>
void put_halves(const FourierForm& form, T* to) {
  const int64_t count = form.points() + planner::kMoreRoots;
  for (int64_t k = 0; k < count; ++k) {
    const std::complex<double> root = root_of_unity(k, form.length);
    to[k] = static_cast<T>(root.real()), to[count + k] = static_cast<T>(form.reverse ? -root.imag() : root.imag());
  }
}

template <class T>
void put_tables(const FourierForm& form, const FourierLayout& layout, std::byte* tables) {
  const auto at = [&]<class U>(size_t offset, U) { return reinterpret_cast<U*>(tables + offset); };
  const int64_t n = form.points();
  const Radices rows = planner::radices_of(layout.rows), columns = planner::radices_of(layout.columns);
  const bool split = layout.columns > 1, within = layout.lanes == planner::FourierLanes::within;
  put_roots(layout.rows, at(layout.row_roots, T()));
  if (split) {
    put_roots(layout.columns, at(layout.column_roots, T()));
    put_places(layout.rows, at(layout.row_places, int32_t()), {rows});
  }
  if (within) {
    put_places(layout.columns, at(layout.column_places, int32_t()), {columns});
  } else {
    int32_t* const places = at(layout.places, int32_t());
    put_places(n, places, {rows, columns});
    places[n] = static_cast<int32_t>(n);  // what is behind the last stays there
  }
  const bool of_reals = form.kind != planner::FourierKind::pairs;
  if (layout.is_short) {
    if (split) put_turns(form, layout, at(layout.turns, T()));
    if (of_reals) put_halves(form, at(layout.halves, T()));
  } else if (within || of_reals) {
    auto *const fine = at(layout.fine, std::complex<double>()), *const coarse =
                                                                    at(layout.coarse, std::complex<double>());
    for (int64_t k = 0; k < planner::kFineRoots + planner::kMoreRoots; ++k) fine[k] = root_of_unity(k, form.length);
    for (int64_t k = 0; k <= form.length / planner::kFineRoots; ++k)
      coarse[k] = root_of_unity(k * planner::kFineRoots, form.length);
  }
}

}  // namespace

std::vector<std::byte> fourier_tables(const FourierForm& form) {
  const FourierLayout layout = planner::fourier_layout(form);
  std::vector<std::byte> tables(layout.table_bytes);
  form.dtype == DType::f64 ? put_tables<double>(form, layout, tables.data())
                           : put_tables<float>(form, layout, tables.data());
  return tables;
}

void transform(const FourierForm& form, const std::byte* tables, const void* in, void* out, std::byte* scratch) {
  if (form.dtype == DType::f64) return NEAP_CALL_ISA(transform_f64(form, tables, in, out, scratch));
  NEAP_CALL_ISA(transform_f32(form, tables, in, out, scratch));
}

}  // namespace neap::cpu
