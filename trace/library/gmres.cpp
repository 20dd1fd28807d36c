#include <neap/control.h>

#include <algorithm>

#include "trace/library/krylov.h"

namespace neap::krylov {

using namespace tracing;
using detail::while_of;

namespace {

// Returns what multiplies each vector of a basis [m, ...] of leaves by conj(its elements) and adds up: [m].
Array products_with(const Arrays& basis, const Arrays& w, DType dtype) {
  const int64_t m = basis[0].shape(0);
  Array total = zeros({m}, dtype);
  for (size_t i = 0; i < w.size(); ++i) {
    const Array rows = reshape(basis[i], {m, -1}).astype(wide(w[i].dtype()));
    total =
        total + matmul(is_complex(rows.dtype()) ? conj(rows) : rows, ravel(w[i]).astype(rows.dtype())).astype(dtype);
  }
  return total;
}
// Returns the sum of the basis' vectors times the coefficients [m].
Arrays combined(const Arrays& basis, const Array& coefficients) {
  const int64_t m = basis[0].shape(0);
  Arrays out;
  for (const Array& v : basis) {
    const DType t = wide(v.dtype());
    const Array c = (is_complex(t) || !is_complex(coefficients.dtype()) ? coefficients : real(coefficients)).astype(t);
    out.push_back(reshape(matmul(c, reshape(v, {m, -1}).astype(t)), Shape(v.shape().begin() + 1, v.shape().end()))
                      .astype(v.dtype()));
  }
  return out;
}

}  // namespace

// Arnoldi's method with two Gram-Schmidt passes. The Hessenberg matrix is made triangular as it grows, by one rotation
// a column; their product q is kept, so that a new column takes one product with it.
Arrays solve_gmres(const System& s, const Arrays& b, const Arrays& x0) {
  const size_t n = b.size();
  int64_t elements = 0;
  for (const Array& leaf : b) elements += leaf.size();
  const int64_t m = std::min(s.options.restart, std::max<int64_t>(elements, 1));
  const DType t = s.dtype, rt = real_dtype(t);
  const Array norm_b = sqrt(squared_norm(b, t)), norm_mb = s.m ? sqrt(squared_norm(s.m(b), t)) : norm_b;
  const Array relative =
      maximum(full({}, s.options.tol, rt), where(norm_b == 0, zeros({}, rt), s.options.atol / norm_b));
  const Array end = norm_mb * minimum(relative, full({}, 1, rt));
  const auto residual = [&](const Arrays& x) { return s.preconditioned(minus(b, s.a(x))); };

  const auto restart = [&](const Arrays& in) {
    State now(n, in);
    const Array k = now.scalar(), norm = now.scalar();
    const Arrays x = now.vector(), r = now.vector();
    Arrays basis;
    const Array inverse = 1 / norm;
    for (const Array& leaf : r) {
      Shape shape = leaf.shape();
      shape.insert(shape.begin(), m + 1);
      basis.push_back(zeros(shape, leaf.dtype()).at(0).set(inverse.astype(leaf.dtype()) * leaf));
    }
    // State: column, |residual|, basis, q [m + 1, m + 1], triangular [m, m].
    State first(n);
    first.add(counter()).add(norm).add(basis).add(eye(m + 1, {}, t)).add(eye(m, {}, t));
    const auto more = [&](const Arrays& c) { return Arrays{(c[0] < m) & (c[1] > end)}; };
    const auto column = [&](const Arrays& c) {
      State at(n, c);
      const Array j = at.scalar();
      at.scalar();
      const Arrays v = at.vector();
      const Array q = at.scalar(), triangle = at.scalar();
      Arrays last;
      for (const Array& leaf : v) last.push_back(leaf[j]);
      Arrays w = s.preconditioned(s.a(last));
      const Array before = squared_norm(w, t);
      Array h = products_with(v, w, t);
      w = minus(w, combined(v, h));
      const Array again = products_with(v, w, t);
      w = minus(w, combined(v, again));
      const Array square_length = squared_norm(w, t);
      // What is left of a vector in the span of the others is rounding.
      const double epsilon = rt == DType::f64 ? 0x1p-52 : 0x1p-23;
      const Array is_new = square_length > square(full({}, epsilon, rt)) * before;
      const Array length = where(is_new, sqrt(square_length), zeros({}, rt));
      h = (h + again).at(j + 1).set(length.astype(t));
      const Array turned = matmul(q, h), top = turned[j], low = turned[j + 1];
      const Array size = sqrt(real(top * conj(top)) + real(low * conj(low)));
      const Array c0 = where(size == 0, ones({}, t), conj(top) / size.astype(t));
      const Array s0 = where(size == 0, zeros({}, t), conj(low) / size.astype(t));
      const Array row = q[j], below = q[j + 1];
      const Array next_q = q.at(j).set(c0 * row + s0 * below).at(j + 1).set(conj(c0) * below - conj(s0) * row);
      const Array filled = arange(m) < j;
      const Array entries = where(filled, turned[{slice(0, m)}], where(arange(m) == j, size.astype(t), zeros({}, t)));
      Arrays next_v;
      for (size_t i = 0; i < n; ++i) {
        const Array unit = where(is_new, w[i] * (1 / where(is_new, length, ones({}, rt))).astype(w[i].dtype()), 0);
        next_v.push_back(v[i].at(j + 1).set(unit));
      }
      State next(n);
      next.add(j + 1).add(norm * abs(next_q[{j + 1, 0}])).add(next_v).add(next_q);
      next.add(triangle.at({slice(), j}).set(entries));
      return next.packed();
    };
    State done(n, while_of(s.op, 0, more, column, first.packed(), s.loc));
    const Array columns = done.scalar();
    done.scalar();
    const Arrays v = done.vector();
    const Array q = done.scalar(), triangle = done.scalar();
    const Array right = where(arange(m) < columns, q[{slice(0, m), 0}] * norm.astype(t), zeros({}, t));
    const Array y = fori_loop(
        0, m,
        [&](const Array& i, const Array& so_far) {
          const Array at = m - 1 - i, pivot = triangle[{at, at}];  // 0 where A is singular
          const Array rest = right[at] - sum(triangle[at] * so_far);
          return so_far.at(at).set(where(pivot == 0, zeros({}, t), rest / where(pivot == 0, ones({}, t), pivot)));
        },
        zeros({m}, t));
    Arrays used;
    for (const Array& leaf : v) used.push_back(slice_in_dim(leaf, 0, m, 0));
    const Arrays next_x = axpy(x, ones({}, rt), combined(used, y)), next_r = residual(next_x);
    State next(n);
    next.add(k + 1).add(sqrt(squared_norm(next_r, t))).add(next_x).add(next_r);
    return next.packed();
  };
  const Arrays r0 = residual(x0);
  State init(n);
  init.add(counter()).add(sqrt(squared_norm(r0, t))).add(x0).add(r0);
  const auto more = [&](const Arrays& in) { return Arrays{(in[1] > end) & (in[0] < s.maxiter)}; };
  State result(n, while_of(s.op, 0, more, restart, init.packed(), s.loc));
  result.scalar(), result.scalar();
  return result.vector();
}

}  // namespace neap::krylov
