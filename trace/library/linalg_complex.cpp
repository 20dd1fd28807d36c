#include "trace/library/linalg_complex.h"

#include <neap/control.h>
#include <neap/creation.h>
#include <neap/transforms.h>

#include <algorithm>

#include "trace/library/of_each.h"
#include "trace/ops/ops_common.h"

namespace neap::tracing::complex_matrices {

namespace {

Array unit(int64_t n, DType dtype) { return eye(n, {}, dtype); }

// --- real matrices in the place of complex ones

// Element x + i y becomes the block x, -y; y, x.
Array embedded(const Array& a) {
  const Array x = real(a), y = imag(a);
  Shape shape = a.shape();
  shape[shape.size() - 2] *= 2, shape[shape.size() - 1] *= 2;
  return reshape(stack({stack({x, -y}, -1), stack({y, x}, -1)}, a.ndim() - 1), shape);
}
// Element x + i y becomes the column x, y.
Array columns(const Array& b) {
  Shape shape = b.shape();
  shape[shape.size() - 2] *= 2;
  return reshape(stack({real(b), imag(b)}, b.ndim() - 1), shape);
}
Array from_columns(const Array& x) {
  const Slice even{0, {}, 2}, odd{1, {}, 2};
  return complex(x[{ellipsis, even, slice()}], x[{ellipsis, odd, slice()}]);
}
Array from_embedded(const Array& a) { return from_columns(a[{ellipsis, slice(), Slice{0, {}, 2}}]); }

// --- one matrix at a time

/// Reflection is I - tau v v^H, whose adjoint maps the vector that it was made of to `beta` times a unit vector.
struct Reflection {
  Array v, tau, beta;  // beta: real
};
// LAPACK's larfg: of the elements of x [n] from `at` on; others count as zeros.
Reflection reflection(const Array& x, const Array& at) {
  const DType dtype = x.dtype(), part = real_dtype(dtype);
  const Array place = arange(x.shape(0)), tail = where(place >= at, x, zeros({}, dtype)), alpha = x[at];
  const Array rest = where(place > at, x, zeros({}, dtype));
  const Array largest = max(maximum(abs(real(tail)), abs(imag(tail))));
  const Array scale = where(largest > 0, largest, ones({}, part));
  const auto squares = [&](const Array& z) { return square(real(z) / scale) + square(imag(z) / scale); };
  const Array none = (sum(squares(rest)) == 0) & (imag(alpha) == 0);
  const Array norm = scale * sqrt(sum(squares(tail)));
  const Array beta = where(none, real(alpha), -copysign(norm, real(alpha)));
  const Array divisor = where(none, ones({}, dtype), alpha - beta.astype(dtype));
  const Array v = where(place == at, ones({}, dtype), rest / divisor);
  const Array tau = where(none, zeros({}, dtype),
                          (1 / where(none, ones({}, part), beta)).astype(dtype) * (beta.astype(dtype) - alpha));
  return {v, tau, beta};
}
// H^H a, and a H.
Array reflected(const Reflection& h, const Array& a) { return a - outer(conj(h.tau) * h.v, matmul(conj(h.v), a)); }
Array reflected_right(const Array& a, const Reflection& h) { return a - outer(matmul(a, h.v) * h.tau, conj(h.v)); }

// --- LU

struct LuState {
  Array a, permutation, pivots;
};
LuState lu_of(const Array& matrix) {
  const int64_t m = matrix.shape(0), n = matrix.shape(1), k = std::min(m, n);
  const Array row = arange(m), column = arange(n);
  const LuState start{matrix, row, zeros({k}, DType::i32)};
  if (k == 0) return start;
  return fori_loop(
      0, k,
      [&](const Array& i, const LuState& s) {
        const Array candidates = s.a[{slice(), i}];
        const Array size = abs(real(candidates)) + abs(imag(candidates));  // as LAPACK compares
        const Array at = argmax(where(row >= i, size, full({}, -1, size.dtype())));
        const auto swapped = [&](const Array& x) {
          const Array here = x[i];
          return x.at(i).set(x[at]).at(at).set(here);
        };
        const Array a = swapped(s.a), pivot = a[{i, i}], below = a[{slice(), i}];
        const Array scaled = where(pivot == 0, below, below / where(pivot == 0, ones({}, pivot.dtype()), pivot));
        const Array l = where(row > i, scaled, zeros({}, a.dtype()));
        const Array right = where(column > i, a[i], zeros({}, a.dtype()));
        const Array stored = a.at({slice(), i}).set(where(row > i, scaled, below));
        return LuState{stored - outer(l, right), swapped(s.permutation), s.pivots.at(i).set(at)};
      },
      start);
}

// As of real matrices (autodiff/jvp_factor.cpp).
Array lu_tangent(const LuState& f, const Array& tangent) {
  const int64_t m = f.a.shape(0), n = f.a.shape(1), k = std::min(m, n);
  const Array l = pad(tril(slice_in_dim(f.a, 0, k, 1), -1), {0, 0}, {0, m - k}) + unit(m, f.a.dtype());
  const Array beyond = where(iota({n, n}, 0) >= k, unit(n, f.a.dtype()), zeros({}, f.a.dtype()));
  const Array u = pad(triu(slice_in_dim(f.a, 0, k, 0)), {0, 0}, {n - k, 0}) + beyond;
  const Array moved = take(tangent, f.permutation, 0);
  const Array left = triangular_solve(l, moved, true, false, true);
  const Array inner = turned(triangular_solve(u, turned(left), false, true, false));
  return matmul(l, tril(inner, -1)) + matmul(triu(inner), u);
}

LuState lu_derivable(const Array& a) {
  return custom_jvp(
      lu_of,
      [](const Array& x, const Array& dx) {
        const LuState f = lu_derivable(x);
        return LuState{lu_tangent(f, dx), zeros_like(f.permutation), zeros_like(f.pivots)};
      },
      user_line({}))(a);
}

Array sign_of(const LuState& f) {
  const Array moved = sum((f.pivots != arange(f.pivots.shape(0))).astype(DType::i32));
  return where(moved % 2 == 0, full({}, 1, real_dtype(f.a.dtype())), full({}, -1, real_dtype(f.a.dtype())));
}

Array trace_of(const Array& a) { return sum(diagonal(a)); }

Array det_of(const Array& a) {
  return custom_jvp(
      [](const Array& x) {
        const LuState f = lu_of(x);
        return prod(diagonal(f.a)) * sign_of(f).astype(x.dtype());
      },
      [](const Array& x, const Array& dx) { return det_of(x) * trace_of(solve(x, dx, false)); }, user_line({}))(a);
}

struct SignAndLog {
  Array sign, logarithm;
};
SignAndLog slogdet_of(const Array& a) {
  return custom_jvp(
      [](const Array& x) {
        const LuState f = lu_of(x);
        const Array on = diagonal(f.a), size = abs(on), is_zero = size == 0;
        const Array directions = on / where(is_zero, ones({}, size.dtype()), size).astype(on.dtype());
        return SignAndLog{prod(directions) * sign_of(f).astype(x.dtype()), sum(log(size))};
      },
      [](const Array& x, const Array& dx) {
        const Array moved = trace_of(solve(x, dx, false));
        return SignAndLog{slogdet_of(x).sign * complex(zeros_like(imag(moved)), imag(moved)), real(moved)};
      },
      user_line({}))(a);
}

// --- QR

struct Factors {
  Array q, r;
};
Factors qr_of(const Array& a, bool full) {
  const int64_t m = a.shape(0), n = a.shape(1), k = std::min(m, n);
  const Factors start{unit(m, a.dtype()), a};
  const int64_t kept = full ? m : k;
  if (k == 0) return {slice_in_dim(start.q, 0, kept, 1), slice_in_dim(a, 0, kept, 0)};
  const Factors f = fori_loop(
      0, k,
      [&](const Array& i, const Factors& s) {
        const Reflection h = reflection(s.r[{slice(), i}], i);
        return Factors{reflected_right(s.q, h), reflected(h, s.r)};
      },
      start);
  return {slice_in_dim(f.q, 0, kept, 1), triu(slice_in_dim(f.r, 0, kept, 0))};
}

Factors qr_derivable(const Array& a);

// Walter and Lehmann (2018), with the diagonal of R kept real.
Factors qr_tangent(const Array& a, const Array& da) {
  const int64_t m = a.shape(0), n = a.shape(1);
  const Factors f = qr_derivable(a);
  const Array square_r = m < n ? slice_in_dim(f.r, 0, m, 1) : f.r, t = m < n ? slice_in_dim(da, 0, m, 1) : da;
  const Array scaled = turned(triangular_solve(square_r, turned(t), false, true, false));
  const Array inner = matmul(adjoint(f.q), scaled), below = tril(inner, -1);
  const Array on = diagonal(inner), turn = below - adjoint(below) + diag(complex(zeros_like(imag(on)), imag(on)));
  const Array dq = matmul(f.q, turn - inner) + scaled;
  const Array dr = m < n ? triu(matmul(adjoint(dq), a) + matmul(adjoint(f.q), da)) : matmul(inner - turn, f.r);
  return {dq, dr};
}

Factors qr_derivable(const Array& a) {
  return custom_jvp([](const Array& x) { return qr_of(x, false); }, qr_tangent, user_line({}))(a);
}

// --- eigh

Array over_gaps(const Array& values) {
  const Array gaps = expand_dims(values, -2) - expand_dims(values, -1), none = gaps == 0;
  return where(none, zeros_like(gaps), 1 / where(none, ones_like(gaps), gaps));
}

struct Pairs {
  Array values, vectors;
};
// By the real tridiagonal matrix that a Hermitian one becomes.
Pairs eigh_of(const Array& a) {
  if (a.shape(0) == 0) return {zeros({0}, real_dtype(a.dtype())), a};
  const HessenbergForm f = hessenberg(a);
  const Array on = real(diagonal(f.h)), below = real(diagonal(f.h, -1));
  const Array tridiagonal = a.shape(0) < 2 ? diag(on) : diag(on) + diag(below, -1) + diag(below, 1);
  const linalg::Eigh real_pairs = linalg::eigh(tridiagonal);
  return {real_pairs.eigenvalues, matmul(f.q, real_pairs.eigenvectors.astype(a.dtype()))};
}
Pairs eigh_derivable(const Array& a) {
  return custom_jvp(
      eigh_of,
      [](const Array& x, const Array& dx) {
        const Pairs p = eigh_derivable(x);
        const Array inner = matmul(adjoint(p.vectors), matmul((dx + adjoint(dx)) / 2, p.vectors));
        return Pairs{real(diagonal(inner)), matmul(p.vectors, over_gaps(p.values).astype(x.dtype()) * inner)};
      },
      user_line({}))(a);
}

// --- svd

struct Triple {
  Array u, s, vh;
};
// By the real bidiagonal matrix that reflections from both sides make of a [m, n], m >= n.
Triple svd_tall(const Array& a, bool full) {
  const int64_t m = a.shape(0), n = a.shape(1);
  const Triple start{unit(m, a.dtype()), a, unit(n, a.dtype())};  // q, what is left, p
  if (n == 0) return {slice_in_dim(start.u, 0, full ? m : 0, 1), zeros({0}, real_dtype(a.dtype())), start.vh};
  const Triple t = fori_loop(
      0, n,
      [&](const Array& i, const Triple& s) {
        const Reflection left = reflection(s.s[{slice(), i}], i);
        const Array once = reflected(left, s.s);
        // The row's last elements, from i + 1 on; there are none in the last two steps but one.
        const Array last = minimum(i + 1, n - 1);
        const Reflection right = reflection(conj(once[i]), last);
        const Reflection used{right.v, where(i + 1 < n, right.tau, zeros_like(right.tau)), right.beta};
        return Triple{reflected_right(s.u, left), reflected_right(once, used), reflected_right(s.vh, used)};
      },
      start);
  const Array on = real(diagonal(t.s));
  const Array bidiagonal = n < 2 ? diag(on) : diag(on) + diag(real(diagonal(slice_in_dim(t.s, 0, n, 0), 1)), 1);
  const linalg::Svd f = linalg::svd(bidiagonal);
  const DType dtype = a.dtype();
  const Array first = matmul(slice_in_dim(t.u, 0, n, 1), f.u.astype(dtype));
  return {full ? concatenate({first, slice_in_dim(t.u, n, m, 1)}, 1) : first, f.s,
          matmul(f.vh.astype(dtype), adjoint(t.vh))};
}
Triple svd_of(const Array& a, bool full) {
  if (a.shape(0) >= a.shape(1)) return svd_tall(a, full);
  const Triple t = svd_tall(adjoint(a), full);
  return {adjoint(t.vh), t.s, adjoint(t.u)};
}

Triple svd_derivable(const Array& a);

Triple svd_tangent(const Array& a, const Array& da) {
  const DType dtype = a.dtype();
  const int64_t m = a.shape(0), n = a.shape(1);
  const Triple f = svd_derivable(a);
  const Array v = adjoint(f.vh), inner = matmul(adjoint(f.u), matmul(da, v)), ds = real(diagonal(inner));
  const auto c = [&](const Array& x) { return x.astype(dtype); };
  const Array row = expand_dims(f.s, -1), column = expand_dims(f.s, -2), sums = row + column, no_sum = sums == 0;
  const Array apart = over_gaps(f.s) * where(no_sum, zeros_like(sums), 1 / where(no_sum, ones_like(sums), sums));
  const Array by_columns = c(column) * inner, by_rows = c(row) * inner;
  const Array none = f.s == 0, inverse = where(none, zeros_like(f.s), 1 / where(none, ones_like(f.s), f.s));
  // Along the diagonal u and v may turn together: that of u alone is chosen.
  const Array turn = diag(complex(zeros_like(ds), imag(diagonal(inner)) * inverse));
  Array du = matmul(f.u, c(apart) * (by_columns + adjoint(by_columns)) + turn);
  Array dv = matmul(v, c(apart) * (by_rows + adjoint(by_rows)));
  if (m > n) {
    const Array moved = matmul(da, v);
    du = du + (moved - matmul(f.u, matmul(adjoint(f.u), moved))) * c(inverse);
  }
  if (n > m) {
    const Array moved = matmul(adjoint(da), f.u);
    dv = dv + (moved - matmul(v, matmul(f.vh, moved))) * c(inverse);
  }
  return {du, ds, adjoint(dv)};
}

Triple svd_derivable(const Array& a) {
  return custom_jvp([](const Array& x) { return svd_of(x, false); }, svd_tangent, user_line({}))(a);
}

}  // namespace

Array cholesky(const Array& a) {
  const Array l = from_embedded(linalg::cholesky(embedded((a + adjoint(a)) / 2)));
  const Array x = real(l);  // the diagonal is real, but for the rounding of the embedded matrix
  return where(logical_and(eye(l.shape(-1), {}, DType::bool_), x == x), complex(x, zeros_like(x)), l);
}

Array solve(const Array& a, const Array& b, bool positive) {
  return from_columns(linalg::solve(embedded(a), columns(b), positive));
}

Array triangular_solve(const Array& matrix, const Array& b, bool lower, bool transposed, bool is_unit) {
  const Array t = transposed ? turned(matrix) : matrix;
  const bool is_lower = lower != transposed;
  const int64_t n = t.shape(-1);
  // With ones on the diagonal the real matrix is triangular, too.
  const Array on = diagonal(t, 0, -2, -1), divisor = expand_dims(is_unit ? ones_like(on) : on, -1);
  const Array with_ones = where(eye(n, {}, DType::bool_), ones({}, t.dtype()), t / divisor);
  return from_columns(
      linalg::triangular_solve(embedded(with_ones), columns(b / divisor), {.lower = is_lower, .unit_diagonal = true}));
}

linalg::Lu lu(const Array& a) {
  const LuState f = of_each(lu_derivable, a);
  return {f.a, f.pivots, f.permutation};
}

// Of full factors the additional columns alone are not determined: their derivative is zero.
linalg::Qr qr(const Array& a, bool full) {
  const int64_t m = a.shape(-2), n = a.shape(-1), k = std::min(m, n);
  const Factors f = of_each(
      [=](const Array& x) {
        const Factors reduced = qr_derivable(x);
        if (!full || m == k) return reduced;
        const Array q = slice_in_dim(qr_of(stop_gradient(x), true).q, k, m, 1);
        return Factors{concatenate({reduced.q, q}, 1), pad(reduced.r, {0, 0}, {m - k, 0})};
      },
      a);
  return {f.q, f.r};
}

linalg::Eigh eigh(const Array& a) {
  const Pairs p = of_each(eigh_derivable, (a + adjoint(a)) / 2);
  return {p.values, p.vectors};
}

linalg::Svd svd(const Array& a, bool full) {
  const int64_t m = a.shape(-2), n = a.shape(-1), k = std::min(m, n);
  const Triple t = of_each(
      [=](const Array& x) {
        const Triple reduced = svd_derivable(x);
        if (!full || m == n) return reduced;
        const Triple whole = svd_of(stop_gradient(x), true);
        return Triple{concatenate({reduced.u, slice_in_dim(whole.u, k, m, 1)}, 1), reduced.s,
                      concatenate({reduced.vh, slice_in_dim(whole.vh, k, n, 0)}, 0)};
      },
      a);
  return {t.u, t.s, t.vh};
}

linalg::Slogdet slogdet(const Array& a) {
  const SignAndLog both = of_each(slogdet_of, a);
  return {both.sign, both.logarithm};
}

Array det(const Array& a) { return of_each(det_of, a); }

HessenbergForm hessenberg(const Array& a) {
  const int64_t n = a.shape(0);
  const HessenbergForm start{unit(n, a.dtype()), a};
  return fori_loop(
      0, std::max<int64_t>(n - 1, 0),
      [&](const Array& i, const HessenbergForm& s) {
        const Reflection h = reflection(s.h[{slice(), i}], i + 1);
        return HessenbergForm{reflected_right(s.q, h), reflected_right(reflected(h, s.h), h)};
      },
      start);
}

}  // namespace neap::tracing::complex_matrices
