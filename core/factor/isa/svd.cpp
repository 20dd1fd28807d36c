// Singular values and vectors: QR where the matrix is not square, reduction to bidiagonal form, then, for the vectors
// of large matrices, divide and conquer, else Golub and Kahan's iteration with implicit shifts (LINPACK's dsvdc), whose
// rotations are applied many at a time.
#include <optional>

#include "core/factor/isa/bidiagonalize.h"
#include "core/factor/isa/divide_bidiagonal.h"

namespace neap::factor::NEAP_ISA {
namespace {

// For each singular value, on average: two are usual. Where values fall by orders of magnitude those after it have
// taken most of theirs when the first is found.
constexpr int64_t kMostSteps = 75;

bool divides(const Form& form) { return form.vectors && std::min(form.m, form.n) >= kDividedRows; }

// Room cuts up the work space. Matrices lie so that m >= n: a wide one is transposed.
template <class T>
struct Room {
  Room(const Form& form, std::byte* bytes) {
    const int64_t m = std::max(form.m, form.n), n = std::min(form.m, form.n);
    Carver carver(bytes);
    values = carver.take<double>(n);
    beside = carver.take<double>(n);
    for (T** p : {&left, &right, &outer}) *p = carver.take<T>(n);
    sums = carver.take<T>(shares(n) * n);
    x = carver.take<T>(n * n);
    tall = m > n ? carver.take<T>(m * n) : nullptr;
    panel = carver.take<T>(panel_size(m, form.full ? m : n));
    if (divides(form)) {
      divide.emplace(carver, n);
    } else if (form.vectors) {
      for (std::byte*& r : rotations) r = carver.bytes(Rotations<T>::room(n));
    }
    used = carver.used();
  }
  double *values, *beside;
  T *left, *right, *outer, *sums;  // scales of reflectors; rows of products, one for each share of rows
  T *x, *tall, *panel;
  std::byte* rotations[2] = {};
  std::optional<DivideBidiagonal<T>> divide;
  size_t used;
};

// Iterates on the bidiagonal matrix with diagonal s and e beside it, and turns rows of u and v; run() returns false
// where it does not converge.
template <class T, class Turns>
class Iteration {
 public:
  Iteration(double* s, double* e, int64_t n, Turns& u, Turns& v) : s_(s), e_(e), n_(n), u_(u), v_(v) {}

  bool run() {
    int64_t steps = 0;
    for (int64_t p = n_; p > 0;) {
      double largest = 0;
      int64_t k = p - 2;
      for (; k >= 0; --k) {
        largest = std::max(largest, std::abs(s_[k + 1]));
        if (is_apart(e_[k], std::abs(s_[k]) + std::abs(s_[k + 1]), kEpsilon, largest)) {
          e_[k] = 0;
          break;
        }
        largest = std::max(largest, std::abs(e_[k]));
      }
      if (k == p - 2) {
        --p;
        continue;
      }
      int64_t z = p - 1;
      for (; z > k; --z) {
        const double near = (z != p - 1 ? std::abs(e_[z]) : 0) + (z != k + 1 ? std::abs(e_[z - 1]) : 0);
        if (std::abs(s_[z]) > kTiny + kEpsilon * near) continue;
        s_[z] = 0;
        break;
      }
      if (z == p - 1) {
        chase_up(k + 1, p);
      } else if (z > k) {
        chase_down(z + 1, p);
      } else if (++steps > kMostSteps * n_) {
        return false;
      } else {
        step(k + 1, p);
      }
    }
    return true;
  }

 private:
  static constexpr double kEpsilon = std::numeric_limits<T>::epsilon();

  // Makes e[p - 2] zero, where s[p - 1] is.
  void chase_up(int64_t k, int64_t p) {
    double f = std::exchange(e_[p - 2], 0.0);
    for (int64_t j = p - 2; j >= k; --j) {
      const double t = length(s_[j], f), c = t == 0 ? 1 : s_[j] / t, s = t == 0 ? 0 : f / t;
      s_[j] = t;
      if (j != k) {
        f = -s * e_[j - 1];
        e_[j - 1] *= c;
      }
      v_.add(j, p - 1, c, s);
    }
  }

  // Makes e[k - 1] zero, where s[k - 1] is.
  void chase_down(int64_t k, int64_t p) {
    double f = std::exchange(e_[k - 1], 0.0);
    for (int64_t j = k; j < p; ++j) {
      const double t = length(s_[j], f), c = t == 0 ? 1 : s_[j] / t, s = t == 0 ? 0 : f / t;
      s_[j] = t;
      f = -s * e_[j];
      e_[j] *= c;
      u_.add(j, k - 1, c, s);
    }
  }

  void step(int64_t k, int64_t p) {
    double scale = 0;
    for (const double x : {s_[p - 1], s_[p - 2], e_[p - 2], s_[k], e_[k]}) scale = std::max(scale, std::abs(x));
    const double sp = s_[p - 1] / scale, before = s_[p - 2] / scale, ep = e_[p - 2] / scale, sk = s_[k] / scale;
    const double b = ((before + sp) * (before - sp) + ep * ep) / 2, c = sp * ep * (sp * ep);
    double shift = 0;
    if (b != 0 || c != 0) shift = c / (b + std::copysign(std::sqrt(b * b + c), b));
    double f = (sk + sp) * (sk - sp) + shift, g = sk * (e_[k] / scale);
    for (int64_t j = k; j + 1 < p; ++j) {
      double t = length(f, g), cs = t == 0 ? 1 : f / t, sn = t == 0 ? 0 : g / t;
      if (j != k) e_[j - 1] = t;
      f = cs * s_[j] + sn * e_[j];
      e_[j] = cs * e_[j] - sn * s_[j];
      g = sn * s_[j + 1];
      s_[j + 1] *= cs;
      v_.add(j, j + 1, cs, sn);
      t = length(f, g), cs = t == 0 ? 1 : f / t, sn = t == 0 ? 0 : g / t;
      s_[j] = t;
      f = cs * e_[j] + sn * s_[j + 1];
      s_[j + 1] = cs * s_[j + 1] - sn * e_[j];
      g = sn * e_[j + 1];
      e_[j + 1] *= cs;
      u_.add(j, j + 1, cs, sn);
    }
    e_[p - 2] = f;
  }

  double *s_, *e_;
  int64_t n_;
  Turns &u_, &v_;
};

// Makes negative values positive.
template <class T>
void flip(double* values, int64_t n, T* v, int64_t length, int64_t stride) {
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] >= 0) continue;
    values[i] = -values[i];
    if (v) vec(v + i * stride, length) *= T(-1);
  }
}

// Makes rows of v and u of what bidiagonalize() leaves. Returns false where an iteration does not converge.
template <class T>
bool divide(T* u, T* v, int64_t n, Room<T>& room, const Work<T>& work) {
  const auto leaf = [&](int64_t begin, int64_t end, int64_t last) {
    // One column more than rows: one more row, of zeros, which the iteration leaves alone in u.
    double* const values = room.values + begin;
    const double behind = last > end ? std::exchange(room.values[end], 0.0) : 0;
    const int64_t count = last - begin, from = begin * n + begin;
    Turned<T> of_u{u + from, count, n}, of_v{v + from, count, n};
    const bool converged = Iteration<T, Turned<T>>(values, room.beside + begin, count, of_u, of_v).run();
    if (last > end) room.values[end] = behind;
    flip(values, end - begin, v + from, count, n);
    return converged;
  };
  if (!room.divide->run(room.values, room.beside, u, v, work, leaf)) return false;
  const View<T> x = matrix(room.x, n, n);
  apply_q(x, n, room.left, View<T>{u, n, n, 1, n}, room.panel, work);
  apply_q(x.block(0, 1, n - 1, n - 1).transposed(), n - 1, room.right, View<T>{v + 1, n - 1, n, 1, n}, room.panel,
          work);
  return true;
}

// The same by rotations of the products of the reflectors. Without vectors u and v are null.
template <class T>
bool iterate(T* u, T* v, int64_t n, Room<T>& room, const Work<T>& work) {
  if (v) {
    const T* const x = room.x;
    std::fill_n(v, n, T(0));
    v[0] = T(1);
    for (int64_t j = 1; j < n; ++j) {
      v[j * n] = T(0);
      std::copy(x + (j - 1) * n + j, x + j * n, v + j * n + j);
    }
    if (n > 1) form_q(View<T>{v + n + 1, n - 1, n - 1, 1, n}, n - 1, room.right, room.panel, work);
    std::copy_n(x, n * n, u);
    transpose_in_place(u, n);
    form_q(View<T>{u, n, n, 1, n}, n, room.left, room.panel, work);
  }
  Rotations<T> of_u(u, n, room.rotations[0], work), of_v(v, n, room.rotations[1], work);
  if (!Iteration<T, Rotations<T>>(room.values, room.beside, n, of_u, of_v).run()) return false;
  of_u.flush();
  of_v.flush();
  flip(room.values, n, v, n, n);
  return true;
}

template <class T>
void unit(T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) out[i * n + j] = i == j ? T(1) : T(0);
}

}  // namespace

size_t svd_strip_room(const Form& form) {
  const int64_t n = std::min(form.m, form.n);
  return divides(form) ? DivideBidiagonal<float>::strip_elements(n) * size_of(form.dtype) : 0;
}

size_t svd_room(const Form& form) {
  return form.dtype == DType::f64 ? Room<double>(form, nullptr).used : Room<float>(form, nullptr).used;
}

template <class T>
void svd(const Form& form, const T* a, T* out, std::byte* bytes, const Work<T>& work) {
  const bool wide = form.m < form.n;
  const int64_t m = std::max(form.m, form.n), n = std::min(form.m, form.n), columns = form.full ? m : n;
  T *const first = out + n, *const second = first + form.m * (form.full ? form.m : n);  // U and V^T
  if (n == 0) {
    if (form.vectors && form.full) unit(first, form.m), unit(second, form.n);
    return;
  }
  Room<T> room(form, bytes);
  const View<const T> given = wide ? matrix(a, n, m).transposed() : matrix(a, m, n);
  const T most = largest(matrix(a, form.m, form.n), false), scale = most > 0 ? most : T(1);
  if (std::isnan(most)) {
    std::fill_n(out, result_size(form), most);
    return;
  }
  T* const x = room.x;
  const View<T> worked = matrix(m > n ? room.tall : x, m, n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) worked(i, j) = given(i, j) / scale;
  if (m > n) {
    reflect(worked, room.outer, room.panel, work);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) x[i * n + j] = j < i ? T(0) : worked(i, j);
  }
  bidiagonalize<T>({.x = x,
                    .n = n,
                    .values = room.values,
                    .beside = room.beside,
                    .left = room.left,
                    .right = room.right,
                    .sums = room.sums},
                   work);
  // Rows: the columns of U and V.
  T *const u = form.vectors ? (wide ? second : first) : nullptr, *const v =
                                                                     form.vectors ? (wide ? first : second) : nullptr;
  if (!(divides(form) ? divide(u, v, n, room, work) : iterate(u, v, n, room, work))) {
    std::fill_n(out, result_size(form), std::numeric_limits<T>::quiet_NaN());
    return;
  }
  sort_rows(room.values, n, {u, v}, std::greater<>());
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(room.values[i] * static_cast<double>(scale));
  if (!form.vectors) return;
  transpose_in_place(wide ? v : u, n);
  // Rows of u grow to the length of the result's; those that are new are those of the unit matrix.
  const int64_t rows = wide ? columns : m, length = wide ? m : columns;
  for (int64_t i = rows - 1; i >= 0; --i) {
    T* const row = u + i * length;
    if (i < n) std::memmove(row, u + i * n, static_cast<size_t>(n) * sizeof(T));
    for (int64_t j = i < n ? n : 0; j < length; ++j) row[j] = i == j ? T(1) : T(0);
  }
  const View<T> result = wide ? matrix(u, rows, length).transposed() : matrix(u, rows, length);
  if (m > n) apply_q(worked, n, room.outer, result, room.panel, work);
}

template void svd<float>(const Form&, const float*, float*, std::byte*, const Work<float>&);
template void svd<double>(const Form&, const double*, double*, std::byte*, const Work<double>&);

}  // namespace neap::factor::NEAP_ISA
