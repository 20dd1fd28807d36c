// Fourier transforms by their divisors (Cooley and Tukey 1965), each lane of a vector one of its own: what a lane
// computes depends on its elements alone, so that neither threads nor slices change a bit. A tile is a matrix of points
// by lanes, real and imaginary vectors in turn; passes by radices 8, 4, 2, 3, 5 and primes go over it in place, and
// leave result k where a table says. Many transforms fill the lanes; of a long one, its columns do, and then its rows.
#include <algorithm>
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
    if (layout_.lanes == FourierLanes::within && layout_.in_slot) {
      return in_slots(transforms, scratch, [&](int64_t i, V* tile) {
        as_matrix(i, tile + layout_.tile_bytes / sizeof(V), [&](int64_t count, const auto& task) {
          for (int64_t t = 0; t < count; ++t) task(t, tile);
        });
      });
    }
    if (layout_.lanes == FourierLanes::within) {
      for (int64_t i = 0; i < transforms; ++i) {
        as_matrix(i, reinterpret_cast<V*>(scratch),
                  [&](int64_t count, const auto& task) { in_slots(count, scratch + layout_.work_bytes, task); });
      }
      return;
    }
    if (layout_.lanes == FourierLanes::outer) {
      return in_slots(tiles(transforms), scratch, [&](int64_t t, V* tile) { of_outer(t * kN, tile); });
    }
    const int64_t across = tiles(form_.inner);
    in_slots(form_.outer * across, scratch, [&](int64_t t, V* tile) { of_inner(t / across, t % across * kN, tile); });
  }

 private:
  template <class U>
  static const U* at(const std::byte* tables, size_t offset) {
    return reinterpret_cast<const U*>(tables + offset);
  }
  static int64_t tiles(int64_t extent) { return (extent + kN - 1) / kN; }

  template <class Task>
  void in_slots(int64_t count, std::byte* slots, const Task& task) const {
    parallel_in_slots(count, layout_.slots, [&](int64_t i, int slot) {
      task(i, reinterpret_cast<V*>(slots + static_cast<size_t>(slot) * layout_.slot_bytes));
    });
  }

  bool pairs_in() const { return form_.kind != FourierKind::from_reals; }
  bool pairs_out() const { return form_.kind != FourierKind::to_reals; }
  // Complex elements of a row; two real ones are one.
  int64_t points_in() const { return form_.kind == FourierKind::to_reals ? n_ + 1 : n_; }
  int64_t points_out() const { return form_.kind == FourierKind::from_reals ? n_ + 1 : n_; }
  // Of transform i, of all that lie along the outer axis and the inner one.
  Row<const T> in_row(int64_t i) const { return row(in_, points_in(), pairs_in(), i); }
  Row<T> out_row(int64_t i) const { return row(out_, points_out(), pairs_out(), i); }
  template <class U>
  Row<U> row(U* array, int64_t points, bool pairs, int64_t i) const {
    const int64_t inner = form_.inner, lane = i % inner;
    return {array + 2 * (i / inner) * points * inner + (pairs ? 2 * lane : lane), 2 * inner, pairs ? 1 : inner};
  }
  // Of a row's point k and the same one of the transforms beside it.
  template <class U>
  static Row<U> beside(const Row<U>& row, int64_t k) {
    return {row.at(k), row.across == 1 ? 2 : 1, row.across};
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
      const auto [x, y] = both(get(tile, place(k)), get(tile, place(n_ - k)), V{} + re, V{} + im);
      put(tile, place(n_ - k), y);
      put(tile, place(k), x);
    }
  }

  // Transforms a tile of all points in place, from their order to where places_ says.
  void transform_all(V* tile) const {
    if (form_.kind == FourierKind::pairs) return transform_points(tile);
    const auto direct = [&] {
      for (int64_t k = 0; form_.reverse && k < n_; ++k) put(tile, k, swapped(get(tile, k)));
    };
    if (form_.kind == FourierKind::to_reals) {
      tile[1] = tile[2 * n_ + 1] = V{};  // the first and the last are real
      each_two(
          tile, [](int64_t k) { return k; },
          [](const Pair<V>& a, const Pair<V>& b, const V& re, const V& im) { return part(a, b, re, im); });
    }
    direct();
    transform_points(tile);
    direct();
    if (form_.kind == FourierKind::from_reals) {
      put(tile, n_, get(tile, 0));
      each_two(
          tile, [&](int64_t k) { return places_[k]; },
          [](const Pair<V>& a, const Pair<V>& b, const V& re, const V& im) { return join(a, b, re, im); });
    }
  }
  void transform_points(V* tile) const {
    const int64_t r = layout_.rows, c = layout_.columns;
    if (c == 1) return transform<T>(tile, r, row_radices_, row_roots_);
    // Behind all points: at strides of powers of two they would meet in the cache.
    V* const column = tile + 2 * (n_ + 1);
    for (int64_t j = 0; j < c; ++j) {
      for (int64_t k = 0; k < r; ++k) put(column, k, get(tile, k * c + j));
      transform<T>(column, r, row_radices_, row_roots_);
      for (int64_t k = 0; k < r; ++k) {
        const T* const w = turns_ + 2 * k * layout_.turn_row + j;
        const Pair<V> x = get(column, row_places_[k]);
        put(tile, row_places_[k] * c + j, k == 0 ? x : times(x, w[0], w[layout_.turn_row]));
      }
    }
    for (int64_t k = 0; k < r; ++k) transform<T>(tile + 2 * k * c, c, column_radices_, column_roots_);
  }
  Pair<V> as_taken(const Pair<V>& x) const { return form_.kind == FourierKind::pairs ? directed(x) : x; }

  // Lanes are elements of the inner axis, from `lane` on.
  void of_inner(int64_t outer, int64_t lane, V* tile) const {
    const int64_t first = outer * form_.inner + lane, count = std::min(kN, form_.inner - lane);
    const Row<const T> from = in_row(first);
    for (int64_t j = 0; j < points_in(); ++j) put(tile, j, as_taken(load_from(beside(from, j), 0, count)));
    transform_all(tile);
    const Row<T> to = out_row(first);
    for (int64_t k = 0; k < points_out(); ++k) {
      store_to(beside(to, k), 0, as_taken(get(tile, places_[k])), count);
    }
  }

  // Of points [first, first + kN) of `extent` in a tile, turned: the parts of one lane are a vector.
  struct Square {
    V re[kN], im[kN];
  };
  static Square square(const V* tile, const int32_t* places, int64_t first, int64_t extent) {
    Square s;
    for (int64_t i = 0; i < kN; ++i) {
      const Pair<V> x = get(tile, places[std::min(first + i, extent - 1)]);
      s.re[i] = x.re, s.im[i] = x.im;
    }
    turn<T>(s.re), turn<T>(s.im);
    return s;
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
      for (int64_t i = 0; i < points; ++i) put(tile, j + i, {re[i], im[i]});
    }
    transform_all(tile);
    for (int64_t k = 0; k < points_out(); k += kN) {
      const int64_t points = std::min(kN, points_out() - k);
      const Square s = square(tile, places_, k, points_out());
      for (int64_t r = 0; r < count; ++r) store_to(out_row(first + r), k, as_taken({s.re[r], s.im[r]}), points);
    }
  }

  // One transform; its work is panels of rows, each [columns] of vectors. each(n, task) calls task(t, tile) for all t.
  template <class Each>
  void as_matrix(int64_t i, V* work, const Each& each) const {
    each(tiles(layout_.columns), [&](int64_t t, V* tile) { columns(i, t, tile, work); });
    each(tiles(layout_.rows), [&](int64_t t, V*) { rows(i, t, work); });
    if (form_.kind == FourierKind::from_reals) join_in_place(out_row(i));
  }

  static Pair<V> mirrored(const Pair<V>& x) {
    return {backward<T>(x.re, Indices<T>()), backward<T>(x.im, Indices<T>())};
  }

  // Points of a transform from j on, as they are transformed.
  Pair<V> point(const Row<const T>& row, int64_t j, int64_t count) const {
    const auto some = [&](int64_t k) { return load_from(row, k, count); };
    if (form_.kind != FourierKind::to_reals) return directed(some(j));
    Pair<V> b = some(n_ - j - count + 1);  // the last of them is the counterpart of the first
    if (count == kN) {
      b = mirrored(b);
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
      put(tile, j, point(from, j * c + first, count));
    }
    transform<T>(tile, r, row_radices_, row_roots_);
    layout_.is_short ? turn_by_table(first, tile) : turn_by_roots(first, tile);
    for (int64_t panel = 0; panel < tiles(r); ++panel) {
      const Square s = square(tile, row_places_, panel * kN, r);
      for (int64_t k = 0; k < count; ++k) put(work, panel * c + first + k, {s.re[k], s.im[k]});
    }
  }

  // Multiplies result k of column j by the root of unity at j k.
  void turn_by_table(int64_t first, V* tile) const {
    for (int64_t k = 1; k < layout_.rows; ++k) {
      const T* const w = turns_ + 2 * k * layout_.turn_row + first;
      put(tile, row_places_[k], times(get(tile, row_places_[k]), load(w), load(w + layout_.turn_row)));
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
        const int64_t place = row_places_[far + k];
        const Pair<V> turned = k == 0 ? w : times(near[k], w.re, w.im);
        put(tile, place, times(get(tile, place), turned.re, turned.im));
      }
    }
  }

  void rows(int64_t i, int64_t panel, V* work) const {
    const int64_t r = layout_.rows, c = layout_.columns, first = panel * kN, count = std::min(kN, r - first);
    V* const tile = work + 2 * panel * c;
    transform<T>(tile, c, column_radices_, column_roots_);
    const Row<T> to = out_row(i);
    for (int64_t k = 0; k < c; ++k) {
      store_to(to, k * r + first, directed(get(tile, column_places_[k])), count);
    }
  }

  // Of the transform of pairs of real numbers, in a row of the result: that of all.
  void join_in_place(const Row<T>& row) const {
    const auto one = [&](int64_t k) { return Pair<T>{row.at(k)[0], row.at(k)[1]}; };
    const auto put_one = [&](int64_t k, const Pair<T>& x) { row.at(k)[0] = x.re, row.at(k)[1] = x.im; };
    put_one(n_, one(0));
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
      const auto [x, y] = join(one(k), one(n_ - k), re, im);
      put_one(n_ - k, y);
      put_one(k, x);
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
