// Fourier transforms by their divisors (Cooley and Tukey 1965), each lane of a vector one of its own: what a lane
// computes depends on its elements alone, so that neither threads nor slices change a bit. A tile is a matrix of points
// by lanes, real and imaginary vectors in turn; passes by radices 8, 4, 2, 3, 5 and primes go over it in place, and
// leave result k where a table says. Many transforms fill the lanes; of a long one, its columns do, and then its rows.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "backends/cpu/isa/fourier_passes.h"
#include "core/thread_pool.h"
#include "planner/kernels/fourier_form.h"

namespace neap::cpu::NEAP_ISA {
namespace {

using planner::FourierForm;
using planner::FourierKind;
using planner::FourierLanes;
using planner::FourierLayout;

template <class T>
class Fourier {
  using V = Lanes<T>;
  static constexpr int64_t kN = kLanes<T>;

 public:
  Fourier(const FourierForm& form, const std::byte* tables, const void* in, void* out)
      : form_(form),
        layout_(planner::fourier_layout(form)),
        n_(form.points()),
        in_(static_cast<const T*>(in)),
        out_(static_cast<T*>(out)),
        row_radices_(planner::radices_of(layout_.rows)),
        column_radices_(planner::radices_of(layout_.columns)),
        row_roots_(at<T>(tables, layout_.row_roots)),
        column_roots_(at<T>(tables, layout_.column_roots)),
        row_places_(at<int32_t>(tables, layout_.row_places)),
        places_(at<int32_t>(tables, layout_.places)),
        column_places_(at<int32_t>(tables, layout_.column_places)),
        turns_(at<T>(tables, layout_.turns)),
        halves_(at<T>(tables, layout_.halves)),
        fine_(at<double>(tables, layout_.fine)),
        coarse_(at<double>(tables, layout_.coarse)) {}

  void run(std::byte* scratch) const {
    const int64_t transforms = form_.outer * form_.inner;
    if (layout_.lanes == FourierLanes::within && !layout_.in_slot) {
      for (int64_t i = 0; i < transforms; ++i) over_threads(i, scratch);
    } else if (layout_.lanes == FourierLanes::within) {
      in_slots(transforms, scratch, [&](int64_t i, std::byte* slot) {
        whole(i, reinterpret_cast<V*>(slot), reinterpret_cast<V*>(slot + layout_.tile_bytes));
      });
    } else if (layout_.lanes == FourierLanes::inner) {
      const int64_t across = tiles(form_.inner);
      in_slots(form_.outer * across, scratch,
               [&](int64_t t, std::byte* slot) { of_inner(t / across, t % across * kN, reinterpret_cast<V*>(slot)); });
    } else {
      in_slots(tiles(transforms), scratch,
               [&](int64_t t, std::byte* slot) { of_outer(t * kN, reinterpret_cast<V*>(slot)); });
    }
  }

 private:
  template <class U>
  static const U* at(const std::byte* tables, size_t offset) {
    return reinterpret_cast<const U*>(tables + offset);
  }
  static int64_t tiles(int64_t extent) { return (extent + kN - 1) / kN; }

  template <class Task>
  void in_slots(int64_t count, std::byte* slots, const Task& task) const {
    if (layout_.slots == 1) {
      for (int64_t i = 0; i < count; ++i) task(i, slots);
      return;
    }
    std::atomic<int64_t> next = 0;
    parallel_tasks(layout_.slots, [&](int s) {
      std::byte* const slot = slots + static_cast<size_t>(s) * layout_.slot_bytes;
      for (int64_t i = next++; i < count; i = next++) task(i, slot);
    });
  }

  bool pairs_in() const { return form_.kind != FourierKind::from_reals; }
  bool pairs_out() const { return form_.kind != FourierKind::to_reals; }
  // Complex elements of a row; two real ones are one.
  int64_t points_in() const { return form_.kind == FourierKind::to_reals ? n_ + 1 : n_; }
  int64_t points_out() const { return form_.kind == FourierKind::from_reals ? n_ + 1 : n_; }
  // Of transform i, of all that lie along the outer axis and the inner one.
  Row<const T> in_row(int64_t i) const {
    const int64_t inner = form_.inner, start = 2 * (i / inner) * points_in() * inner, lane = i % inner;
    return {in_ + start + (pairs_in() ? 2 * lane : lane), 2 * inner, pairs_in() ? 1 : inner};
  }
  Row<T> out_row(int64_t i) const {
    const int64_t inner = form_.inner, start = 2 * (i / inner) * points_out() * inner, lane = i % inner;
    return {out_ + start + (pairs_out() ? 2 * lane : lane), 2 * inner, pairs_out() ? 1 : inner};
  }

  // Swapped parts are transformed the other way round.
  Pair<V> directed(const Pair<V>& x) const { return form_.reverse ? swapped(x) : x; }

  // The root of unity of order form.length at k, in the direction of the exponent; and those from k on.
  Pair<T> root(int64_t k) const {
    if (layout_.is_short) return {halves_[k], halves_[k + n_ + planner::kMoreRoots]};
    const auto [re, im] = computed_root(k, 0);
    return {re, form_.reverse ? -im : im};
  }
  Pair<V> roots(int64_t k) const {
    if (layout_.is_short) return {load(halves_ + k), load(halves_ + k + n_ + planner::kMoreRoots)};
    T re[kN], im[kN];
    for (int64_t i = 0; i < kN; ++i) {
      const Pair<T> forward = computed_root(k, i);
      re[i] = forward.re, im[i] = form_.reverse ? -forward.im : forward.im;
    }
    return {load(re), load(im)};
  }
  // Forward, at k + i, i up to kMoreRoots.
  Pair<T> computed_root(int64_t k, int64_t i) const {
    const double* const a = fine_ + 2 * (k % planner::kFineRoots + i);
    const double* const b = coarse_ + 2 * (k / planner::kFineRoots);
    return {static_cast<T>(a[0] * b[0] - a[1] * b[1]), static_cast<T>(a[0] * b[1] + a[1] * b[0])};
  }

  // Of z, the transform of pairs of real numbers: results k and points - k of all (Cooley, Lewis and Welch 1970).
  // Halves first: sums of both may be twice as large as any result.
  template <class W>
  static std::pair<Pair<W>, Pair<W>> join(Pair<W> a, Pair<W> b, const W& re, const W& im) {
    constexpr T kHalf = static_cast<T>(0.5);
    a = {a.re * kHalf, a.im * kHalf}, b = {b.re * kHalf, b.im * kHalf};
    const Pair<W> even{a.re + b.re, a.im - b.im}, odd = times(Pair<W>{a.im + b.im, b.re - a.re}, re, im);
    return {even + odd, {even.re - odd.re, odd.im - even.im}};
  }
  // The inverse: of results k and points - k of pairs of real numbers, their transform there.
  template <class W>
  static std::pair<Pair<W>, Pair<W>> part(const Pair<W>& a, const Pair<W>& b, const W& re, const W& im) {
    const Pair<W> even{a.re + b.re, a.im - b.im}, odd = times(Pair<W>{a.re - b.re, a.im + b.im}, re, im);
    return {{even.re - odd.im, even.im + odd.re}, {even.re + odd.im, odd.re - even.im}};
  }
  // Of the points of a tile that lie where `place` says; the one behind the last is a copy of the first.
  template <class Both, class Place>
  void each_two(V* tile, const Place& place, const Both& both) const {
    for (int64_t k = 0; 2 * k <= n_; ++k) {
      const auto [re, im] = root(k);
      V *const a = tile + 2 * place(k), *const b = tile + 2 * place(n_ - k);
      const V c = V{} + re, s = V{} + im;
      const auto [x, y] = both(Pair<V>{a[0], a[1]}, Pair<V>{b[0], b[1]}, c, s);
      b[0] = y.re, b[1] = y.im;
      a[0] = x.re, a[1] = x.im;
    }
  }

  // Transforms a tile of all points in place, from their order to where places_ says.
  void transform_all(V* tile) const {
    if (form_.kind == FourierKind::to_reals) {
      tile[1] = tile[2 * n_ + 1] = V{};  // the first and the last are real
      each_two(
          tile, [](int64_t k) { return k; },
          [](const Pair<V>& a, const Pair<V>& b, const V& re, const V& im) { return part(a, b, re, im); });
    }
    if (form_.reverse && form_.kind != FourierKind::pairs) {
      for (int64_t k = 0; k < n_; ++k) std::swap(tile[2 * k], tile[2 * k + 1]);
    }
    transform_points(tile);
    if (form_.reverse && form_.kind != FourierKind::pairs) {
      for (int64_t k = 0; k < n_; ++k) std::swap(tile[2 * k], tile[2 * k + 1]);
    }
    if (form_.kind == FourierKind::from_reals) {
      tile[2 * n_] = tile[0], tile[2 * n_ + 1] = tile[1];
      each_two(
          tile, [&](int64_t k) { return places_[k]; },
          [](const Pair<V>& a, const Pair<V>& b, const V& re, const V& im) { return join(a, b, re, im); });
    }
  }
  void transform_points(V* tile) const {
    const int64_t r = layout_.rows, c = layout_.columns;
    if (c == 1) return transform<T>(tile, r, row_radices_, row_roots_);
    V* const column =
        tile + 2 * (n_ + 1);  // behind all points: at strides of powers of two they would meet in the cache
    for (int64_t j = 0; j < c; ++j) {
      for (int64_t k = 0; k < r; ++k) {
        const V* const from = tile + 2 * (k * c + j);
        column[2 * k] = from[0], column[2 * k + 1] = from[1];
      }
      transform<T>(column, r, row_radices_, row_roots_);
      for (int64_t k = 0; k < r; ++k) {
        const T* const w = turns_ + 2 * k * padded_columns() + j;
        const V* const from = column + 2 * row_places_[k];
        const Pair<V> x =
            k == 0 ? Pair<V>{from[0], from[1]} : times(Pair<V>{from[0], from[1]}, w[0], w[padded_columns()]);
        V* const to = tile + 2 * (row_places_[k] * c + j);
        to[0] = x.re, to[1] = x.im;
      }
    }
    for (int64_t k = 0; k < r; ++k) transform<T>(tile + 2 * k * c, c, column_radices_, column_roots_);
  }
  int64_t padded_columns() const {
    const int64_t lanes = planner::fourier_lanes(form_.dtype);
    return (layout_.columns + lanes - 1) / lanes * lanes;
  }
  Pair<V> as_taken(const Pair<V>& x) const { return form_.kind == FourierKind::pairs ? directed(x) : x; }

  // Lanes are elements of the inner axis, from `lane` on.
  void of_inner(int64_t outer, int64_t lane, V* tile) const {
    const int64_t count = std::min(kN, form_.inner - lane);
    const auto load_reals = [&](const T* from) {
      if (count == kN) return load(from);
      T some[kN] = {};
      std::copy_n(from, count, some);
      return load(some);
    };
    const auto store_reals = [&](T* to, const V& v) {
      if (count == kN) return store(to, v);
      T some[kN];
      store(some, v);
      std::copy_n(some, count, to);
    };
    const int64_t along = form_.inner;
    const T* from = in_ + 2 * outer * points_in() * along + (pairs_in() ? 2 : 1) * lane;
    for (int64_t j = 0; j < points_in(); ++j, from += 2 * along) {
      Pair<V> x;
      if (pairs_in()) {
        x = load_from(Row<const T>{from, 2, 1}, 0, count);
      } else {
        x = {load_reals(from), load_reals(from + along)};
      }
      x = as_taken(x);
      tile[2 * j] = x.re, tile[2 * j + 1] = x.im;
    }
    transform_all(tile);
    T* to = out_ + 2 * outer * points_out() * along + (pairs_out() ? 2 : 1) * lane;
    for (int64_t k = 0; k < points_out(); ++k, to += 2 * along) {
      const V* const v = tile + 2 * places_[k];
      const Pair<V> x = as_taken({v[0], v[1]});
      if (pairs_out()) {
        store_to(Row<T>{to, 2, 1}, 0, x, count);
      } else {
        store_reals(to, x.re), store_reals(to + along, x.im);
      }
    }
  }

  // Lanes are transforms, from `first` on: squares of their points are turned.
  void of_outer(int64_t first, V* tile) const {
    const int64_t count = std::min(kN, form_.outer * form_.inner - first);
    for (int64_t j = 0; j < points_in(); j += kN) {
      const int64_t points = std::min(kN, points_in() - j);
      V re[kN] = {}, im[kN] = {};
      for (int64_t r = 0; r < count; ++r) {
        const Pair<V> x = as_taken(load_from(in_row(first + r), j, points));
        re[r] = x.re, im[r] = x.im;
      }
      turn<T>(re), turn<T>(im);
      for (int64_t i = 0; i < points; ++i) tile[2 * (j + i)] = re[i], tile[2 * (j + i) + 1] = im[i];
    }
    transform_all(tile);
    for (int64_t k = 0; k < points_out(); k += kN) {
      const int64_t points = std::min(kN, points_out() - k);
      V re[kN], im[kN];
      for (int64_t i = 0; i < kN; ++i) {
        const V* const v = tile + 2 * places_[std::min(k + i, points_out() - 1)];
        re[i] = v[0], im[i] = v[1];
      }
      turn<T>(re), turn<T>(im);
      for (int64_t r = 0; r < count; ++r) store_to(out_row(first + r), k, as_taken({re[r], im[r]}), points);
    }
  }

  // One transform; its work is panels of rows, each [columns] of vectors.
  void whole(int64_t i, V* tile, V* work) const {
    for (int64_t t = 0; t < tiles(layout_.columns); ++t) columns(i, t, tile, work);
    for (int64_t t = 0; t < tiles(layout_.rows); ++t) rows(i, t, work);
    if (form_.kind == FourierKind::from_reals) join_in_place(out_row(i));
  }
  void over_threads(int64_t i, std::byte* scratch) const {
    V* const work = reinterpret_cast<V*>(scratch);
    in_slots(tiles(layout_.columns), scratch + layout_.work_bytes,
             [&](int64_t t, std::byte* slot) { columns(i, t, reinterpret_cast<V*>(slot), work); });
    in_slots(tiles(layout_.rows), scratch + layout_.work_bytes, [&](int64_t t, std::byte*) { rows(i, t, work); });
    if (form_.kind == FourierKind::from_reals) join_in_place(out_row(i));
  }

  // Points of a transform from j on, as they are transformed.
  Pair<V> point(const Row<const T>& row, int64_t j, int64_t count) const {
    const auto some = [&](int64_t k) { return load_from(row, k, count); };
    if (form_.kind != FourierKind::to_reals) return directed(some(j));
    Pair<V> b = some(n_ - j - count + 1);  // the last of them is the counterpart of the first
    if (count == kN) {
      b = {backward<T>(b.re, Indices<T>()), backward<T>(b.im, Indices<T>())};
    } else {
      T re[kN], im[kN];
      store(re, b.re), store(im, b.im);
      std::reverse(re, re + count), std::reverse(im, im + count);
      b = {load(re), load(im)};
    }
    Pair<V> a = some(j);
    if (j == 0) a.im[0] = b.im[0] = 0;  // the first and the last are real
    const Pair<V> w = roots(j);
    return directed(part(a, b, w.re, w.im).first);
  }

  void columns(int64_t i, int64_t t, V* tile, V* work) const {
    const int64_t r = layout_.rows, c = layout_.columns, first = t * kN, count = std::min(kN, c - first);
    const Row<const T> from = in_row(i);
    for (int64_t j = 0; j < r; ++j) {
      if (j + 8 < r) __builtin_prefetch(from.at((j + 8) * c + first));
      const Pair<V> x = point(from, j * c + first, count);
      tile[2 * j] = x.re, tile[2 * j + 1] = x.im;
    }
    transform<T>(tile, r, row_radices_, row_roots_);
    layout_.is_short ? turn_by_table(first, tile) : turn_by_roots(first, tile);
    for (int64_t panel = 0; panel < tiles(r); ++panel) {
      V re[kN], im[kN];
      for (int64_t k = 0; k < kN; ++k) {
        const V* const v = tile + 2 * row_places_[std::min(panel * kN + k, r - 1)];
        re[k] = v[0], im[k] = v[1];
      }
      turn<T>(re), turn<T>(im);
      V* const to = work + 2 * (panel * c + first);
      for (int64_t k = 0; k < count; ++k) to[2 * k] = re[k], to[2 * k + 1] = im[k];
    }
  }

  // Multiplies result k of column j by the root of unity at j k.
  void turn_by_table(int64_t first, V* tile) const {
    const int64_t padded = padded_columns();
    for (int64_t k = 1; k < layout_.rows; ++k) {
      const T* const w = turns_ + 2 * k * padded + first;
      V* const v = tile + 2 * row_places_[k];
      const Pair<V> x = times(Pair<V>{v[0], v[1]}, load(w), load(w + padded));
      v[0] = x.re, v[1] = x.im;
    }
  }
  void turn_by_roots(int64_t first, V* tile) const {
    constexpr int64_t kNear = 16;
    const int64_t stride = form_.length / n_;  // of the roots' order
    const auto root_of = [&](int64_t k) {
      T re[kN], im[kN];
      for (int64_t l = 0; l < kN; ++l) {
        const Pair<T> root = computed_root((first + l) * k % n_ * stride, 0);
        re[l] = root.re, im[l] = root.im;
      }
      return Pair<V>{load(re), load(im)};
    };
    Pair<V> near[kNear];
    for (int64_t k = 1; k < kNear; ++k) near[k] = root_of(k);
    for (int64_t far = 0; far < layout_.rows; far += kNear) {
      const Pair<V> w = root_of(far);
      for (int64_t k = 0; k < std::min(kNear, layout_.rows - far); ++k) {
        V* const v = tile + 2 * row_places_[far + k];
        const Pair<V> turned = k == 0 ? w : times(near[k], w.re, w.im);
        const Pair<V> x = times(Pair<V>{v[0], v[1]}, turned.re, turned.im);
        v[0] = x.re, v[1] = x.im;
      }
    }
  }

  void rows(int64_t i, int64_t panel, V* work) const {
    const int64_t r = layout_.rows, c = layout_.columns, first = panel * kN, count = std::min(kN, r - first);
    V* const tile = work + 2 * panel * c;
    transform<T>(tile, c, column_radices_, column_roots_);
    const Row<T> to = out_row(i);
    for (int64_t k = 0; k < c; ++k) {
      const V* const v = tile + 2 * column_places_[k];
      store_to(to, k * r + first, directed({v[0], v[1]}), count);
    }
  }

  // Of the transform of pairs of real numbers, in a row of the result: that of all.
  void join_in_place(const Row<T>& row) const {
    const auto get = [&](int64_t k) { return Pair<T>{row.at(k)[0], row.at(k)[1]}; };
    const auto put = [&](int64_t k, const Pair<T>& x) { row.at(k)[0] = x.re, row.at(k)[1] = x.im; };
    const auto mirrored = [](const Pair<V>& x) {
      return Pair<V>{backward<T>(x.re, Indices<T>()), backward<T>(x.im, Indices<T>())};
    };
    put(n_, get(0));
    int64_t k = 0;
    for (; k + kN <= n_ - k - kN + 1; k += kN) {
      const int64_t other = n_ - k - kN + 1;
      const Pair<V> w = roots(k);
      const auto [x, y] = join(load_from(row, k, kN), mirrored(load_from(row, other, kN)), w.re, w.im);
      store_to(row, other, mirrored(y), kN);
      store_to(row, k, x, kN);
    }
    for (; 2 * k <= n_; ++k) {
      const auto [re, im] = root(k);
      const auto [x, y] = join(get(k), get(n_ - k), re, im);
      put(n_ - k, y);
      put(k, x);
    }
  }

  const FourierForm& form_;
  const FourierLayout layout_;
  const int64_t n_;
  const T* in_;
  T* out_;
  const planner::Radices row_radices_, column_radices_;
  const T *row_roots_, *column_roots_;
  const int32_t *row_places_, *places_, *column_places_;
  const T *turns_, *halves_;
  const double *fine_, *coarse_;
};

}  // namespace

void transform_f32(const FourierForm& form, const std::byte* tables, const void* in, void* out, std::byte* scratch) {
  Fourier<float>(form, tables, in, out).run(scratch);
}
void transform_f64(const FourierForm& form, const std::byte* tables, const void* in, void* out, std::byte* scratch) {
  Fourier<double>(form, tables, in, out).run(scratch);
}

}  // namespace neap::cpu::NEAP_ISA
