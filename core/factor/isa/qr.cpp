// Householder reflectors, applied many at once: Q = 1 - V T V^T for the reflectors in the columns of V, with T upper
// triangular (LAPACK's larft and larfb).
#include "core/factor/isa/view.h"

namespace neap::factor::NEAP_ISA {
namespace {

template <class T>
T norm(const T* x, int64_t n, int64_t stride) {
  using Strided = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>, 0, Eigen::InnerStride<>>;
  const Strided v(x, n, Eigen::InnerStride<>(stride));
  const T squared = v.squaredNorm();
  constexpr T kLow = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  if (squared > kLow && squared < std::numeric_limits<T>::max()) return std::sqrt(squared);
  return v.stableNorm();
}

// Panel is the room that a block of reflectors works in.
template <class T>
struct Panel {
  Panel(T* room, int64_t m) : v(room), t(v + m * kPanel), products(t + kPanel * kPanel) {}
  T *v, *t, *products;  // V [m, kPanel] by columns, T by rows, two [kPanel, columns] by columns
};

// Copies the reflectors as V is meant: ones on the diagonal, zeros above.
template <class T>
View<T> load(View<T> columns, T* v) {
  const View<T> out{v, columns.rows, columns.columns, 1, columns.rows};
  for (int64_t j = 0; j < out.columns; ++j) {
    for (int64_t i = 0; i < out.rows; ++i) out(i, j) = i < j ? T(0) : i == j ? T(1) : columns(i, j);
  }
  return out;
}

template <class T>
View<T> make_t(View<T> v, const T* scales, Panel<T>& panel, const Work<T>& work) {
  const View<T> t = matrix(panel.t, v.columns, v.columns), dots = matrix(panel.products, v.columns, v.columns);
  std::fill_n(dots.data, v.columns * v.columns, T(0));
  work.product(dots, v.transposed(), v, T(1));
  for (int64_t j = 0; j < v.columns; ++j) {
    for (int64_t i = 0; i < v.columns; ++i) {
      T x = i == j ? T(1) : T(0);
      for (int64_t k = i; k < j; ++k) x -= t(i, k) * dots(k, j);
      t(i, j) = i > j ? T(0) : scales[j] * x;
    }
  }
  return t;
}

// Computes c := (1 - V T V^T) c, or with T^T.
template <class T>
void apply_block(View<T> v, View<T> t, bool transposed, View<T> c, Panel<T>& panel, const Work<T>& work) {
  if (c.columns == 0) return;
  // By columns, for a product is cut into strips of the longer side that lies so.
  const View<T> first = matrix(panel.products, c.columns, v.columns).transposed(),
                second = matrix(first.data + v.columns * c.columns, c.columns, v.columns).transposed();
  std::fill_n(first.data, 2 * v.columns * c.columns, T(0));
  work.product(first, v.transposed(), c, T(1));
  work.product(second, transposed ? t.transposed() : t, first, T(1));
  work.product(c, v, second, T(-1));
}

}  // namespace

template <class T>
Reflector<T> reflector(T* x, int64_t n, int64_t stride) {
  // Where a vector's length has fewer digits than others, as below here, it is made longer first (LAPACK's larfg).
  constexpr T kShort = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  const auto scale_by = [&](T factor, int64_t from) {
    for (int64_t i = from; i < n; ++i) x[i * stride] *= factor;
  };
  const auto length_of_rest = [&] { return n > 1 ? norm(x + stride, n - 1, stride) : T(0); };
  T rest = length_of_rest(), shrunk = 1;
  if (rest == 0) return {T(0), x[0]};
  T beta = std::hypot(x[0], rest);
  if (beta < kShort) {
    scale_by(1 / kShort, 0);
    shrunk = kShort;
    rest = length_of_rest();
    beta = std::hypot(x[0], rest);
  }
  const T alpha = x[0];
  beta = -std::copysign(beta, alpha);
  scale_by(1 / (alpha - beta), 1);
  return {(beta - alpha) / beta, beta * shrunk};
}

template <class T>
void reflect(View<T> a, T* scales, T* room, const Work<T>& work) {
  const int64_t k = std::min(a.rows, a.columns);
  Panel<T> panel(room, a.rows);
  for (int64_t j = 0; j < k; j += kPanel) {
    const int64_t width = std::min(kPanel, k - j), m = a.rows - j;
    const View<T> columns = a.block(j, j, m, width), local{panel.v, m, width, 1, m};
    for (int64_t i = 0; i < m; ++i)
      for (int64_t c = 0; c < width; ++c) local(i, c) = columns(i, c);
    for (int64_t c = 0; c < width; ++c) {
      const int64_t rest = m - c;
      T* const v = &local(c, c);
      const auto [scale, result] = reflector(v, rest, 1);
      scales[j + c] = scale;
      *v = T(1);
      for (int64_t other = c + 1; other < width; ++other) {
        T* const x = &local(c, other);
        vec(x, rest) -= scale * (vec(x, rest) * vec(v, rest)).sum() * vec(v, rest);
      }
      *v = result;
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t c = 0; c < width; ++c) columns(i, c) = local(i, c);
    if (j + width == a.columns) break;
    const View<T> v = load(columns, panel.v), t = make_t(v, scales + j, panel, work);
    apply_block(v, t, true, a.block(j, j + width, m, a.columns - j - width), panel, work);
  }
}

template <class T>
void apply_q(View<T> v, int64_t count, const T* scales, View<T> c, T* room, const Work<T>& work) {
  Panel<T> panel(room, v.rows);
  for (int64_t j = (count - 1) / kPanel * kPanel; j >= 0 && count > 0; j -= kPanel) {
    const int64_t width = std::min(kPanel, count - j), m = v.rows - j;
    const View<T> block = load(v.block(j, j, m, width), panel.v), t = make_t(block, scales + j, panel, work);
    apply_block(block, t, false, c.block(j, 0, m, c.columns), panel, work);
  }
}

template <class T>
void apply_q(FunctionRef<const T*(int64_t)> at, int64_t count, const T* scales, View<T> c, T* room,
             const Work<T>& work) {
  Panel<T> panel(room, c.rows);
  for (int64_t j = (count - 1) / kPanel * kPanel; j >= 0 && count > 0; j -= kPanel) {
    const int64_t width = std::min(kPanel, count - j), m = c.rows - j;
    const View<T> block{panel.v, m, width, 1, m};
    for (int64_t i = 0; i < width; ++i) {
      std::fill_n(&block(0, i), i, T(0));
      std::copy_n(at(j + i), m - i, &block(i, i));
    }
    const View<T> t = make_t(block, scales + j, panel, work);
    apply_block(block, t, false, c.block(j, 0, m, c.columns), panel, work);
  }
}

template <class T>
void form_q(View<T> q, int64_t count, const T* scales, T* room, const Work<T>& work) {
  Panel<T> panel(room, q.rows);
  // The columns that no reflector has touched are those of the unit matrix.
  for (int64_t j = count; j < q.columns; ++j)
    for (int64_t i = 0; i < q.rows; ++i) q(i, j) = i == j ? T(1) : T(0);
  for (int64_t j = (count - 1) / kPanel * kPanel; j >= 0 && count > 0; j -= kPanel) {
    const int64_t width = std::min(kPanel, count - j), m = q.rows - j;
    const View<T> v = load(q.block(j, j, m, width), panel.v), t = make_t(v, scales + j, panel, work);
    for (int64_t i = 0; i < q.rows; ++i)
      for (int64_t c = j; c < j + width; ++c) q(i, c) = i == c ? T(1) : T(0);
    apply_block(v, t, false, q.block(j, j, m, q.columns - j), panel, work);
  }
}

size_t qr_room(const Form& form) {
  const size_t element = size_of(form.dtype);
  const auto k = static_cast<size_t>(std::min(form.m, form.n));
  const int64_t columns = form.full ? std::max(form.m, form.n) : form.n;
  return round_up(k * element) + round_up(static_cast<size_t>(panel_size(form.m, columns)) * element);
}

template <class T>
void qr(const Form& form, const T* a, T* out, std::byte* room, const Work<T>& work) {
  const int64_t m = form.m, n = form.n, k = std::min(m, n), columns = form.full ? m : k;
  T* const scales = reinterpret_cast<T*>(room);
  T* const panel = reinterpret_cast<T*>(room + round_up(static_cast<size_t>(k) * sizeof(T)));
  const View<T> q = matrix(out, m, columns), r = matrix(out + m * columns, columns, n);
  // The matrix is reduced where it fits: in Q's place, or in R's.
  const View<T> place = m >= n ? q.block(0, 0, m, n) : r;
  for (int64_t i = 0; i < m; ++i) std::copy_n(a + i * n, n, &place(i, 0));
  reflect(place, scales, panel, work);
  for (int64_t i = 0; i < columns; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (j >= i) {
        r(i, j) = place(i, j);
      } else {
        if (m < n) q(i, j) = place(i, j);
        r(i, j) = T(0);
      }
    }
  }
  form_q(q, k, scales, panel, work);
}

#define NEAP_INSTANTIATE(T)                                                                                 \
  template Reflector<T> reflector<T>(T*, int64_t, int64_t);                                                 \
  template void reflect<T>(View<T>, T*, T*, const Work<T>&);                                                \
  template void form_q<T>(View<T>, int64_t, const T*, T*, const Work<T>&);                                  \
  template void apply_q<T>(View<T>, int64_t, const T*, View<T>, T*, const Work<T>&);                        \
  template void apply_q<T>(FunctionRef<const T*(int64_t)>, int64_t, const T*, View<T>, T*, const Work<T>&); \
  template void qr<T>(const Form&, const T*, T*, std::byte*, const Work<T>&);
NEAP_INSTANTIATE(float)
NEAP_INSTANTIATE(double)
#undef NEAP_INSTANTIATE

}  // namespace neap::factor::NEAP_ISA
