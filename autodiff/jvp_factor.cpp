// Tangents of factorizations, in terms of the same factors. The formulas are those of jax/_src/lax/linalg.py.
#include <fmt/format.h>

#include <limits>

#include "autodiff/jvp_rules.h"
#include "trace/library/linalg.h"

namespace neap::autodiff {
namespace {

using namespace tracing;

// Returns the symmetric matrix whose lower triangle was read.
Array symmetric(const Array& t) { return tril(t) + turned(tril(t, -1)); }
Array on_diagonal(const Array& x) { return diagonal(x, 0, -2, -1); }
Array unit(const Array& like, int64_t n) { return eye(n, {}, like.dtype()); }

// Returns 1 / x, the largest number where x is 0: vectors of equal values have no derivative, but a function of the
// values alone, for which theirs counts 0 times, has.
Array reciprocal(const Array& x) {
  const double largest =
      x.dtype() == f64 ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
  const Array none = x == 0;
  return where(none, largest, 1 / where(none, 1, x));
}

// Returns 1 / (value j - value i), zeros on the diagonal.
Array over_gaps(const Array& values) {
  const int64_t n = values.shape(-1);
  const Array gaps = expand_dims(values, -2) - expand_dims(values, -1);
  return where(eye(n, {}, bool_), zeros_like(gaps), reciprocal(gaps));
}

// From d(l l^T) = dl l^T + l dl^T, x being the dl of v: a change of l is the same as one of v.
Array cholesky_tangent(const JvpSite& site) {
  Array v = site.tangent[1];
  if (!is_zero(site.tangent[0])) {
    const Array moved = matmul(site.out, turned(tril(site.tangent[0])));
    const Array both = -(moved + turned(moved));
    v = is_zero(v) ? both : v + both;
  }
  return site.apply({site.in[0], v});
}

// The transpose of that, with respect to x.
Array cholesky_cotangent(const JvpSite& site) {
  NEAP_CHECK(site.node.attrs.integer(Attr::packed) == 0, "packed by the planner, after all derivatives");
  Array w = site.tangent[1];
  if (!is_zero(site.tangent[0])) {
    const Array moved = -matmul(site.out + turned(site.out), tril(site.tangent[0]));
    w = is_zero(w) ? moved : w + moved;
  }
  return site.apply({site.in[0], w});
}

Array triangular_solve(const JvpSite& site) {
  const Attrs& attrs = site.node.attrs;
  const TriangularForm form{attrs.integer(Attr::lower) != 0, attrs.integer(Attr::transposed) != 0,
                            attrs.integer(Attr::unit) != 0};
  Array rhs = site.tangent[1];
  if (!is_zero(site.tangent[0])) {
    const int64_t beside = form.unit ? 1 : 0;
    Array t = form.lower ? tril(site.tangent[0], -beside) : triu(site.tangent[0], beside);
    if (form.transposed) t = turned(t);
    const Array moved = matmul(t, site.out);
    rhs = is_zero(rhs) ? -moved : rhs - moved;
  }
  return solve_left(site.in[0], rhs, form);
}

Array lu(const Array& a, const Array& packed, const Array& tangent) {
  const int64_t m = a.shape(-2), n = a.shape(-1), k = std::min(m, n);
  const LuParts parts = lu_parts(a, packed);
  const Array moved = rows_in_order(tangent, parts.permutation.astype(i32));
  // Makes the factors square: L with columns, U with rows of the unit matrix.
  const int64_t axes = a.ndim();
  const auto padded = [&](const Array& x, int64_t axis, int64_t by) {
    Shape none(static_cast<size_t>(axes), 0), high = none;
    high[axis] = by;
    return pad(x, none, high);
  };
  const Array l = padded(tril(slice_in_dim(parts.both, 0, k, axes - 1), -1), axes - 1, m - k) + unit(a, m);
  const Array beyond = where(iota({n, n}, 0, i32) >= k, unit(a, n), zeros({n, n}, a.dtype()));
  const Array u = padded(triu(slice_in_dim(parts.both, 0, k, axes - 2)), axes - 2, n - k) + beyond;
  const Array inner = solve_right(u, solve_left(l, moved, {.lower = true, .unit = true}), {.lower = false});
  const Array both = matmul(l, tril(inner, -1)) + matmul(triu(inner), u);
  return joined_parts({{both, 2}, {zeros_like(parts.pivots), 1}, {zeros_like(parts.permutation), 1}});
}

Array qr(const Node& node, const Array& a, const Array& packed, const Array& tangent) {
  const int64_t m = a.shape(-2), n = a.shape(-1);
  const bool full = node.attrs.integer(Attr::full) != 0;
  if (full && m > n) {
    throw_user<UserError>("qr", fmt::format("a derivative of a full Q of {}", to_string(a.aval())),
                          "a reduced one: the other columns are not determined", "use QrMode::reduced", node.loc);
  }
  const auto [q, r] = qr_parts(a, packed, full);
  const int64_t last = a.ndim() - 1;
  const Array square = m < n ? slice_in_dim(r, 0, m, last) : r;
  const Array t = m < n ? slice_in_dim(tangent, 0, m, last) : tangent;
  const Array scaled = solve_right(square, t, {.lower = false});
  const Array inner = matmul(turned(q), scaled), below = tril(inner, -1), turn = below - turned(below);
  const Array dq = matmul(q, turn - inner) + scaled;
  const Array dr =
      m < n ? triu(matmul(turned(dq), matmul(q, r)) + matmul(turned(q), tangent)) : matmul(inner - turn, r);
  return joined_parts({{dq, 2}, {dr, 2}});
}

// Returns the tangents of values and vectors, from those.
Array eigh(const Array& a, const Array& packed, const Array& tangent, bool vectors) {
  const auto [w, v] = eigh_parts(a, packed);
  const Array inner = matmul(turned(v), matmul(symmetric(tangent), v)), dw = on_diagonal(inner);
  if (!vectors) return dw;
  return joined_parts({{dw, 1}, {matmul(v, over_gaps(w) * inner), 2}});
}

Array svd(const Node& node, const Array& a, const Array& packed, const Array& tangent, bool vectors) {
  const int64_t m = a.shape(-2), n = a.shape(-1);
  const bool full = vectors && node.attrs.integer(Attr::full) != 0;
  if (full && m != n) {
    throw_user<UserError>("svd", fmt::format("a derivative of the full matrices of {}", to_string(a.aval())),
                          "reduced ones: the others are not determined", "use full_matrices = false", node.loc);
  }
  const auto [u, s, vt] = svd_parts(a, packed, full);
  const Array v = turned(vt);
  const Array inner = matmul(turned(u), matmul(tangent, v)), ds = on_diagonal(inner);
  if (!vectors) return ds;
  const Array columns = expand_dims(s, -2), sums = columns + expand_dims(s, -1), none = sums == 0;
  const Array share = where(none, 1, columns / where(none, 1, sums)), apart = over_gaps(s);
  const Array by_columns = share * inner, by_rows = turned(share) * inner;
  Array du = matmul(u, apart * (by_columns + turned(by_columns)));
  Array dv = matmul(v, apart * (by_rows + turned(by_rows)));
  if (m > n) {
    const Array moved = matmul(tangent, v);
    du = du + (moved - matmul(u, matmul(turned(u), moved))) * reciprocal(columns);
  }
  if (n > m) {
    const Array moved = matmul(turned(tangent), u);
    dv = dv + (moved - matmul(v, matmul(turned(v), moved))) * reciprocal(columns);
  }
  return joined_parts({{ds, 1}, {du, 2}, {turned(dv), 2}});
}

}  // namespace

ManyJvp jvp_factor(const Node& node, const Arrays& in, const Arrays& tangent) {
  const bool values_only = node.attrs.has(Attr::vectors) && node.attrs.integer(Attr::vectors) == 0;
  Attrs attrs = node.attrs;
  if (values_only) attrs.set(Attr::vectors, int64_t{1});  // the tangents of the values are made of the vectors
  if (values_only && node.op == Op::svd) attrs.set(Attr::full, int64_t{0});
  const Array out = apply(node.op, in, attrs, node.loc);
  const Array& a = in[0];
  const auto result = [&](const Array& value, const Array& t) { return ManyJvp{{value}, {t}}; };
  switch (node.op) {
    case Op::cholesky: return result(out, apply(Op::cholesky_tangent, {out, tangent[0]}, {}, node.loc));
    case Op::cholesky_tangent: return result(out, cholesky_tangent({node, in, out, tangent}));
    case Op::cholesky_cotangent: return result(out, cholesky_cotangent({node, in, out, tangent}));
    case Op::triangular_solve: return result(out, triangular_solve({node, in, out, tangent}));
    case Op::lu: return result(out, lu(a, out, tangent[0]));
    case Op::qr: return result(out, qr(node, a, out, tangent[0]));
    case Op::eigh: return result(values_only ? eigh_parts(a, out).values : out, eigh(a, out, tangent[0], !values_only));
    case Op::svd:
      return result(values_only ? svd_parts(a, out, false).s : out, svd(node, a, out, tangent[0], !values_only));
    default: break;
  }
  throw InternalError("jvp: no factorization");
}

}  // namespace neap::autodiff
