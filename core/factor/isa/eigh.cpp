// Eigenvalues and eigenvectors of symmetric matrices: Householder's reduction to tridiagonal form, then, for the
// vectors of large matrices, divide and conquer, else the QL iteration with implicit shifts (Golub and Van Loan, 8.3),
// whose rotations are applied many at a time.
#include <optional>

#include "core/factor/isa/divide_tridiagonal.h"

namespace neap::factor::NEAP_ISA {
namespace {

bool divides(const Form& form) { return form.vectors && form.n >= kDividedRows; }

// For each eigenvalue, on average: two are usual. Where they fall by orders of magnitude those after it have taken most
// of theirs when the first is found.
constexpr int64_t kMostSteps = 60;

template <class T>
struct Room {
  Room(const Form& form, std::byte* bytes) {
    const int64_t n = form.n;
    Carver carver(bytes);
    values = carver.take<double>(n);
    beside = carver.take<double>(n);
    scales = carver.take<T>(n);
    for (T*& w : products) w = carver.take<T>(shares(n) * n);
    if (divides(form)) {
      panel = carver.take<T>(panel_size(n, n));
      reflectors = carver.take<T>(n / 2 * n);
      divide.emplace(carver, n);
    } else if (form.vectors) {
      panel = carver.take<T>(panel_size(n, n));
      rotations = carver.bytes(Rotations<T>::room(n));
    } else {
      z = carver.take<T>(n * n);
    }
    used = carver.used();
  }
  double *values, *beside;
  T *scales, *products[2], *panel = nullptr, *z = nullptr, *reflectors = nullptr;
  std::byte* rotations = nullptr;
  std::optional<DivideTridiagonal<T>> divide;
  size_t used;
};

// A step of the reduction below: what the one before leaves to do, and this one's row.
template <class T>
struct Step {
  T* a;
  int64_t n;
  const T *v, *w;  // of the step before, by column; null in the first
  const T* row;    // this one's reflector
  T* p;            // what the matrix makes of it
};

// Rows i to i + kCount of it, at the columns behind their diagonal elements. Each is updated (other -= vi w + wi v,
// where there is a step before), and p += ri other; then p[i] += the sum of other * row, with the diagonal. So many
// rows at once read p, v, w and the row once. Columns are taken in registers that end with the row, the first of which
// are masked.
template <bool kUpdate, int kCount, class T>
void pass(const Step<T>& step, int64_t i) {
  const auto [a, n, v, w, row, p] = step;
  T* other[kCount];
  T vi[kCount], wi[kCount];
  for (int r = 0; r < kCount; ++r) {
    other[r] = a + (i + r) * n;
    vi[r] = kUpdate ? v[i + r] : T(0), wi[r] = kUpdate ? w[i + r] : T(0);
  }
  const auto update = [&](auto x, auto wj, auto vj, int r) {
    if constexpr (kUpdate) {
      x = x - wj * vi[r];
      x = x - vj * wi[r];
    }
    return x;
  };
  T sum[kCount] = {};
  if (n < kLanes<T>) {
    for (int r = 0; r < kCount; ++r) {
      for (int64_t j = i + r + 1; j < n; ++j) {
        other[r][j] = update(other[r][j], kUpdate ? w[j] : T(0), kUpdate ? v[j] : T(0), r);
        p[j] = p[j] + other[r][j] * row[i + r];
        sum[r] = sum[r] + other[r][j] * row[j];
      }
    }
  } else {
    Register<T> sums[kCount] = {};
    const auto visit = [&](int64_t j, const auto& at_row) {
      const Register<T> rj = lanes(row + j);
      Register<T> vj{}, wj{}, pj = lanes(p + j);
      if constexpr (kUpdate) vj = lanes(v + j), wj = lanes(w + j);
      for (int r = 0; r < kCount; ++r) at_row(r, update(lanes(other[r] + j), wj, vj, r), rj, pj);
      lanes(p + j) = pj;
    };
    // Those behind the diagonal of the first row, and where registers may hold diagonals of others, of each row.
    in_registers<T>(i + 1, n, [&]<bool kSome>(int64_t j, Lanes<T> mask) {
      if (kSome || j < i + kCount) {
        visit(j, [&](int r, Register<T> x, Register<T> rj, Register<T>& pj) {
          Lanes<T> behind = lanes_between<T>(i + r + 1 - j, kLanes<T>);
          if constexpr (kSome) behind = behind & mask;
          put(other[r] + j, x, behind);
          x = masked<T>(x, behind);
          pj = pj + x * row[i + r];
          sums[r] = sums[r] + x * masked<T>(rj, behind);  // the others hold anything
        });
      } else {
        visit(j, [&](int r, Register<T> x, Register<T> rj, Register<T>& pj) {
          if constexpr (kUpdate) lanes(other[r] + j) = x;
          pj = pj + x * row[i + r];
          sums[r] = sums[r] + x * rj;
        });
      }
    });
    for (int r = 0; r < kCount; ++r) sum[r] = total<T>(sums[r]);
  }
  for (int r = 0; r < kCount; ++r) {
    T& diagonal = other[r][i + r];
    if constexpr (kUpdate) diagonal -= 2 * vi[r] * wi[r];
    p[i + r] += sum[r] + diagonal * row[i + r];
  }
}

// Makes a, of which the upper triangle is read, tridiagonal. Row k then holds reflector k from column k + 1 on. The
// update of a step and the product of the next one read the matrix once.
template <class T>
void tridiagonalize(T* a, int64_t n, const Room<T>& room, const Work<T>& work) {
  const T *v = nullptr, *w = nullptr;  // of the step before; indexed by column
  const auto update = [&](int64_t i) {
    if (v) vec(a + i * n + i, n - i) -= v[i] * vec(w + i, n - i) + w[i] * vec(v + i, n - i);
  };
  for (int64_t k = 0; k + 1 < n; ++k) {
    update(k);
    T* const row = a + k * n;
    room.values[k] = row[k];
    const auto [scale, result] = reflector(row + k + 1, n - k - 1, 1);
    room.scales[k] = scale;
    room.beside[k] = result;
    row[k + 1] = T(1);
    T* const p = room.products[k % 2];
    const int64_t rest = n - k - 1, count = shares(rest), share = (rest + count - 1) / count;
    const auto one = [&](int64_t begin, int64_t end, const Work<T>&) {
      T* const own = p + begin / share * n;
      vec(own + k + 1 + begin, rest - begin).setZero();
      const Step<T> step{a, n, v, w, row, own};
      in_rows(k + 1 + begin, k + 1 + end,
              [&]<int kCount>(int64_t i) { v ? pass<true, kCount>(step, i) : pass<false, kCount>(step, i); });
    };
    work.strips(rest, one, share);
    for (int64_t begin = share; begin < rest; begin += share)
      vec(p + k + 1 + begin, rest - begin) += vec(p + begin / share * n + k + 1 + begin, rest - begin);
    const auto ps = vec(p + k + 1, n - k - 1), vs = vec(row + k + 1, n - k - 1);
    vec(p + k + 1, n - k - 1) *= scale;
    const T along = scale / 2 * (ps * vs).sum();
    vec(p + k + 1, n - k - 1) -= along * vs;
    v = row;
    w = p;
  }
  update(n - 1);
  room.values[n - 1] = a[n * n - 1];
}

// Calls rotations.add() for rotations of rows that diagonalize the matrix. Returns false where it does not converge.
template <class T, class Turns>
bool iterate(double* d, double* e, int64_t n, Turns& rotations) {
  constexpr double kEpsilon = std::numeric_limits<T>::epsilon() / 2;
  e[n - 1] = 0;
  int64_t steps = 0;
  for (int64_t l = 0; l < n; ++l) {
    for (;; ++steps) {
      double largest = 0;
      int64_t m = l;
      for (; m < n - 1; ++m) {
        largest = std::max(largest, std::abs(d[m]));
        if (is_apart(e[m], std::abs(d[m]) + std::abs(d[m + 1]), kEpsilon, largest)) break;
        largest = std::max(largest, std::abs(e[m]));
      }
      if (m == l) break;
      if (steps == kMostSteps * n) return false;
      double g = (d[l + 1] - d[l]) / (2 * e[l]);
      g = d[m] - d[l] + e[l] / (g + std::copysign(std::sqrt(g * g + 1), g));
      double s = 1, c = 1, p = 0;
      bool split = false;
      for (int64_t i = m - 1; i >= l; --i) {
        const double f = s * e[i], b = c * e[i], r = length(f, g);
        e[i + 1] = r;
        if (r <= kTiny) {
          d[i + 1] -= p;
          e[m] = 0;
          split = true;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        const double t = (d[i] - g) * s + 2 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        rotations.add(i + 1, i, c, s);
      }
      if (split) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  return true;
}

// Makes the rows of z, where the reflectors are, the eigenvectors.
template <class T>
bool divide(T* z, int64_t n, Room<T>& room, const Work<T>& work) {
  // Row k has reflector k from column k + 1 on: two of them are as long as a row and fill one.
  const auto at = [&](int64_t k) -> T* {
    const int64_t other = n - 2 - k;
    return room.reflectors + (k <= other ? k * n : other * n + n - (n - 1 - k));
  };
  for (int64_t k = 0; k + 1 < n; ++k) std::copy_n(z + k * n + k + 1, n - 1 - k, at(k));
  const auto leaf = [&](int64_t begin, int64_t end) {
    T* const rows = z + begin * n + begin;
    for (int64_t i = 0; i < end - begin; ++i) rows[i * n + i] = T(1);
    Turned<T> turned{rows, end - begin, n};
    return iterate<T>(room.values + begin, room.beside + begin, end - begin, turned);
  };
  if (!room.divide->run(room.values, room.beside, z, work, leaf)) return false;
  apply_q<T>([&](int64_t k) -> const T* { return at(k); }, n - 1, room.scales, View<T>{z + 1, n - 1, n, 1, n},
             room.panel, work);
  return true;
}

}  // namespace

size_t eigh_strip_room(const Form& form) {
  return divides(form) ? DivideTridiagonal<float>::strip_elements(form.n) * size_of(form.dtype) : 0;
}

size_t eigh_room(const Form& form) {
  return form.dtype == DType::f64 ? Room<double>(form, nullptr).used : Room<float>(form, nullptr).used;
}

template <class T>
void eigh(const Form& form, const T* a, T* out, std::byte* bytes, const Work<T>& work) {
  const int64_t n = form.n;
  if (n == 0) return;
  Room<T> room(form, bytes);
  T* const z = form.vectors ? out + n : room.z;
  const T most = largest(matrix(a, n, n), true), scale = most > 0 ? most : T(1);
  if (std::isnan(most)) {
    std::fill_n(out, result_size(form), most);
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) z[j * n + i] = a[i * n + j] / scale;
  tridiagonalize(z, n, room, work);
  bool converged = false;
  if (divides(form)) {
    converged = divide(z, n, room, work);
  } else {
    if (form.vectors) {
      // Rows of z become the columns of the product of the reflectors, of which the first leaves row 0 as it is.
      for (int64_t j = n - 1; j > 0; --j) {
        std::copy(z + (j - 1) * n + j, z + j * n, z + j * n + j);
        z[j * n] = T(0);
      }
      std::fill_n(z, n, T(0));
      z[0] = T(1);
      if (n > 1) form_q(View<T>{z + n + 1, n - 1, n - 1, 1, n}, n - 1, room.scales, room.panel, work);
    }
    Rotations<T> rotations(form.vectors ? z : nullptr, n, room.rotations, work);
    converged = iterate<T>(room.values, room.beside, n, rotations);
    rotations.flush();
  }
  if (!converged) {
    std::fill_n(out, result_size(form), std::numeric_limits<T>::quiet_NaN());
    return;
  }
  sort_rows(room.values, n, {form.vectors ? z : nullptr}, std::less<>());
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(room.values[i] * static_cast<double>(scale));
  if (form.vectors) transpose_in_place(z, n);
}

template void eigh<float>(const Form&, const float*, float*, std::byte*, const Work<float>&);
template void eigh<double>(const Form&, const double*, double*, std::byte*, const Work<double>&);

}  // namespace neap::factor::NEAP_ISA
