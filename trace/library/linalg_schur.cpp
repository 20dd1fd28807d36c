// Schur forms of complex matrices, and what is made of them: eigenvalues of any matrix, square roots. The QR algorithm
// with one shift (Golub and Van Loan, Matrix Computations, 7.5), each rotation a step of a loop.
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/solvers.h>
#include <neap/transforms.h>

#include "trace/library/linalg_complex.h"
#include "trace/library/of_each.h"
#include "trace/ops/ops_common.h"

namespace neap::tracing::complex_matrices {

namespace {

Array unit(int64_t n, DType dtype) { return eye(n, {}, dtype); }
Array ratio(const Array& z, const Array& size) {
  const Array none = size == 0;
  return where(none, zeros({}, z.dtype()), z / where(none, ones_like(size), size).astype(z.dtype()));
}

// The eigenvalue of a matrix of two rows that is nearer to its last element.
Array shift_of(const Array& a, const Array& b, const Array& c, const Array& d) {
  const Array half = (a - d) / 2, product = b * c, root = sqrt(half * half + product);
  // The larger of both sums: d - bc / (half + sign root).
  const Array plus = half + root, minus = half - root;
  const Array sum = where(abs(plus) >= abs(minus), plus, minus), none = abs(sum) == 0;
  return where(none, d, d - product / where(none, ones({}, sum.dtype()), sum));
}

/// Active is the state of the QR algorithm: rows `top` to `end` are worked at; `tries` since the last one was done.
struct Active {
  Array end, steps, tries, h, z;
};

/// Chase is the state of one sweep: rotation k makes (x, y) of rows k, k + 1 have no second element.
struct Chase {
  Array k, x, y, h, z;
};

Chase rotated(const Chase& s, const Array& end) {
  const Array size = hypot(abs(s.x), abs(s.y));
  const Array c = where(size == 0, ones({}, s.x.dtype()), ratio(s.x, size)), d = ratio(s.y, size);
  const Array next = s.k + 1;
  const auto on_columns = [&](const Array& m) {
    const Array left = m[{slice(), s.k}], right = m[{slice(), next}];
    return m.at({slice(), s.k}).set(left * c + right * d).at({slice(), next}).set(right * conj(c) - left * conj(d));
  };
  const Array upper = s.h[s.k], lower = s.h[next];
  const Array h = on_columns(s.h.at(s.k).set(conj(c) * upper + conj(d) * lower).at(next).set(c * lower - d * upper));
  const Array beyond = minimum(s.k + 2, end);
  return {next, h[{next, s.k}], where(s.k + 2 <= end, h[{beyond, s.k}], zeros({}, h.dtype())), h, on_columns(s.z)};
}

Active step(const Active& s, int64_t n) {
  const Array place = arange(n), on = diagonal(s.h), below = pad(diagonal(s.h, -1), {1}, {0});
  const DType part = real_dtype(s.h.dtype());
  const double epsilon = part == DType::f64 ? 0x1p-52 : 0x1p-23;
  const Array beside = abs(on) + pad(abs(slice_in_dim(on, 0, n - 1, 0)), {1}, {0});
  const Array largest = max(abs(on)) + max(abs(below));
  const Array scale = where(beside == 0, largest, beside);
  const Array small = (place == 0) | (abs(below) <= epsilon * scale);
  const Array top = max(where(small & (place <= s.end), place, -1));
  // What is small enough is zero.
  const Array before = maximum(top - 1, zeros_like(top)), cut = s.h[{top, before}];
  const Array h = s.h.at({top, before}).set(where(top > 0, zeros({}, cut.dtype()), cut));
  const Array done = top == s.end, last = maximum(s.end - 1, zeros_like(s.end));
  const Array d = h[{s.end, s.end}];
  // Where nothing has been done for ten steps, another shift ends what goes round in a circle.
  const Array usual = shift_of(h[{last, last}], h[{last, s.end}], h[{s.end, last}], d);
  const Array stuck = (s.tries % 10) == 9;
  const Array shift = where(stuck, d + abs(h[{s.end, last}]).astype(d.dtype()), usual);
  const Array second = minimum(top + 1, s.end);
  const Chase start{top, h[{top, top}] - shift, h[{second, top}], h, s.z};
  const Chase swept = while_loop([&](const Chase& c) { return !done & (c.k < s.end); },
                                 [&](const Chase& c) { return rotated(c, s.end); }, start);
  return {where(done, s.end - 1, s.end), s.steps + 1, where(done, zeros_like(s.tries), s.tries + 1), swept.h, swept.z};
}

Array column(const Array& x, const Array& j) { return x[{slice(), j}]; }

// Solves (t + shift) x = b of an upper triangular t.
Array shifted_solve(const Array& t, const Array& shift, const Array& b) {
  const Array matrix = t + shift * unit(t.shape(0), t.dtype());
  return squeeze(triangular_solve(matrix, expand_dims(b, 1), false, false, false), 1);
}

// Column by column, as of each the elements above the diagonal solve a triangular system.
Array root_of_triangular(const Array& t) {
  const int64_t n = t.shape(0);
  const Array roots = sqrt(diagonal(t)), place = arange(n);
  return fori_loop(
      0, n,
      [&](const Array& j, const Array& r) {
        const Array above = where(place < j, column(t, j), zeros({}, t.dtype()));
        // Rows from j on have right sides of 0; their diagonal is that of the roots.
        const Array filled = r + diag(where(place < j, zeros({}, t.dtype()), ones({}, t.dtype())));
        const Array x = shifted_solve(filled, roots[j], above);
        return r.at({slice(), j}).set(where(place == j, roots[j], where(place < j, x, zeros({}, t.dtype()))));
      },
      zeros({n, n}, t.dtype()));
}

// Solves r y + y r = c of an upper triangular r.
Array sylvester(const Array& r, const Array& c) {
  const int64_t n = r.shape(0);
  const Array place = arange(n), on = diagonal(r);
  return fori_loop(
      0, n,
      [&](const Array& j, const Array& y) {
        const Array before = where(place < j, column(r, j), zeros({}, r.dtype()));
        return y.at({slice(), j}).set(shifted_solve(r, on[j], column(c, j) - matmul(y, before)));
      },
      zeros({n, n}, r.dtype()));
}

struct Root {
  Array r, z;
};
Root root_of(const Array& a) {
  const SchurForm f = schur(stop_gradient(a));
  return {root_of_triangular(f.t), f.z};
}
Array in_basis(const Array& z, const Array& x) { return matmul(z, matmul(x, adjoint(z))); }

// Eigenvectors of an upper triangular t: row by row from the last, of all vectors at once.
Array vectors_of(const Array& t) {
  const int64_t n = t.shape(0);
  const Array on = diagonal(t), place = arange(n);
  const DType part = real_dtype(t.dtype());
  const double epsilon = part == DType::f64 ? 0x1p-52 : 0x1p-23;
  const Array least = maximum(epsilon * max(abs(t)), full({}, part == DType::f64 ? 0x1p-1000 : 0x1p-120, part));
  return fori_loop(
      0, n,
      [&](const Array& k, const Array& x) {
        const Array i = n - 1 - k;
        const Array above = where(place > i, t[i], zeros({}, t.dtype()));
        const Array gap = on[i] - on, close = abs(gap) < least;
        const Array divisor = where(close, least.astype(t.dtype()), gap);
        const Array row = where(place > i, -matmul(above, x) / divisor, (place == i).astype(t.dtype()));
        return x.at(i).set(row);
      },
      zeros({n, n}, t.dtype()));
}

Array normalised(const Array& v) {
  const Array lengths = sqrt(sum(square(real(v)) + square(imag(v)), 0, true));
  const Array size = abs(v), largest = expand_dims(argmax(size, 0), 0);
  const Array phase = take_along_axis(v, largest, 0),
              turn = conj(phase) / take_along_axis(size, largest, 0).astype(v.dtype());
  return v * (turn / lengths.astype(v.dtype()));
}

struct Pairs {
  Array values, vectors;
};
Pairs eig_of(const Array& a) {
  if (a.shape(0) == 0) return {zeros({0}, a.dtype()), a};
  const SchurForm f = schur(stop_gradient(a));
  return {diagonal(f.t), normalised(matmul(f.z, vectors_of(f.t)))};
}
Pairs eig_derivable(const Array& a) {
  return custom_jvp(
      eig_of,
      [](const Array& x, const Array& dx) {
        const Pairs p = eig_derivable(x);
        const Array inner = solve(p.vectors, matmul(dx, p.vectors), false);
        const Array gaps = expand_dims(p.values, 0) - expand_dims(p.values, 1), none = abs(gaps) == 0;
        const Array apart = where(none, zeros({}, gaps.dtype()), 1 / where(none, ones({}, gaps.dtype()), gaps));
        const Array moved = matmul(p.vectors, apart * inner);
        return Pairs{diagonal(inner), moved - p.vectors * sum(conj(p.vectors) * moved, 0, true)};
      },
      user_line({}))(a);
}

Array root_derivable(const Array& a) {
  return custom_jvp(
      [](const Array& x) {
        const Root f = root_of(x);
        return in_basis(f.z, f.r);
      },
      [](const Array& x, const Array& dx) {
        // s ds + ds s = dx for the root s, which is solved in the basis in which it is triangular.
        const Root f = root_of(x);
        const Array s = root_derivable(x);
        const auto solve = [&](const auto&, const Array& b) {
          return in_basis(f.z, sylvester(f.r, matmul(adjoint(f.z), matmul(b, f.z))));
        };
        return custom_linear_solve([&](const Array& y) { return matmul(s, y) + matmul(y, s); }, dx, solve,
                                   [&](const auto& g, const Array& b) { return turned(solve(g, turned(b))); });
      },
      user_line({}))(a);
}

}  // namespace

SchurForm schur(const Array& a) {
  const int64_t n = a.shape(0);
  if (n < 2) return {a, unit(n, a.dtype())};
  const HessenbergForm f = hessenberg(a);
  const Array zero = zeros({}, DType::i32);
  const Active s = while_loop([&](const Active& now) { return (now.end > 0) & (now.steps < 40 * n); },
                              [&](const Active& now) { return step(now, n); },
                              Active{full({}, n - 1, DType::i32), zero, zero, f.h, f.q});
  return {triu(s.h), s.z};
}

linalg::Eig eig(const Array& a) {
  const Pairs p = of_each(eig_derivable, a);
  return {p.values, p.vectors};
}

Array sqrtm(const Array& a) { return a.size() == 0 ? a : of_each(root_derivable, a); }

}  // namespace neap::tracing::complex_matrices

namespace neap::linalg {

using namespace tracing;

namespace {

Array complex_matrix(const Operand& a, std::string_view op) {
  const Shape& shape = a.shape();
  if (shape.size() < 2 || shape[shape.size() - 1] != shape[shape.size() - 2])
    throw_user<ShapeError>(op, to_string(Aval{shape, a.dtype()}), "square matrices [..., n, n]", "",
                           user_line(a.loc()));
  return a.as(complex_dtype(to_float_dtype(a.dtype())));
}

}  // namespace

Eig eig(const Operand& a) {
  const AtLine line(a.loc());
  return as_one_tree(complex_matrix(a, "eig"), complex_matrices::eig);
}

Array eigvals(const Operand& a) {
  const AtLine line(a.loc());
  return as_one_tree(complex_matrix(a, "eigvals"), [](const Array& x) { return complex_matrices::eig(x).eigenvalues; });
}

Schur schur(const Operand& a) {
  const AtLine line(a.loc());
  return as_one_tree(complex_matrix(a, "schur"), [](const Array& x) {
    const auto f = of_each(complex_matrices::schur, x);
    return Schur{f.t, f.z};
  });
}

Array sqrtm(const Operand& a) {
  const AtLine line(a.loc());
  return as_one_tree(complex_matrix(a, "sqrtm"), complex_matrices::sqrtm);
}

}  // namespace neap::linalg
