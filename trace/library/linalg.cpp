// Factorizations and what is solved with them (neap/linalg.h), after jax.numpy.linalg and jax.scipy.linalg.
#include "trace/library/linalg.h"

#include <neap/creation.h>
#include <neap/transforms.h>

#include <fmt/format.h>

#include "core/size.h"
#include "trace/library/linalg_complex.h"
#include "trace/library/of_each.h"
#include "trace/ops/ops_common.h"

namespace neap::linalg {

using namespace tracing;

namespace {

DType computed(DType dtype) { return wide(to_float_dtype(dtype)); }

void require_matrices(const Operand& a, std::string_view op, bool square) {
  const Shape& shape = a.shape();
  if (shape.size() >= 2 && (!square || shape[shape.size() - 1] == shape[shape.size() - 2])) return;
  throw_user<ShapeError>(op, to_string(Aval{shape, a.dtype()}),
                         square ? "square matrices [..., n, n]" : "matrices [..., m, n]", "", user_line(a.loc()));
}

// Returns f of the array in the dtype that it is computed in, as one executable outside a trace; it is not rounded
// back.
Array in_wide(const std::string& key, const Operand& a, const std::function<Array(const Array&)>& f) {
  return composite(key, {a.as_array()}, [&](const Arrays& in) { return f(in[0].astype(computed(in[0].dtype()))); });
}
Array rounded(const Array& x, const Operand& like) { return x.astype(to_float_dtype(like.dtype())); }

Array symmetric(const Array& a) { return (a + turned(a)) / 2; }

Array factor_node(Op op, const Array& a, Attrs attrs = {}) { return apply(op, {a}, std::move(attrs), user_line({})); }

// Returns the matrix that the factors are of: its lower triangle alone counts, but where it is complex.
Array of_triangle(const Array& a, bool lower, bool symmetrize_input) {
  if (!is_complex(a.dtype())) return symmetrize_input ? symmetric(a) : lower ? a : turned(a);
  if (symmetrize_input) return (a + adjoint(a)) / 2;
  const Array half = lower ? tril(a, -1) : triu(a, 1), on = real(diagonal(a, 0, -2, -1));
  const Array unit = eye(a.shape(-1), {}, a.dtype());
  return half + adjoint(half) + expand_dims(on, -1).astype(a.dtype()) * unit;
}

Array eigh_node(const Array& a, bool vectors) { return factor_node(Op::eigh, a, {{Attr::vectors, int64_t{vectors}}}); }
Array svd_node(const Array& a, bool full, bool vectors) {
  return factor_node(Op::svd, a, {{Attr::full, int64_t{full}}, {Attr::vectors, int64_t{vectors}}});
}

// --- systems

// Returns f(a, b) of matrices whose batches are broadcast, in the dtype that they are computed in. b may be a vector.
Array with_right_side(const std::string& key, const Operand& a, const Operand& b,
                      const std::function<Array(const Array&, const Array&)>& f) {
  const AtLine line(a.loc());
  const std::string op = key.substr(0, key.find(' '));
  require_matrices(a, op, true);
  const std::array<const Operand*, 2> operands{&a, &b};
  const DType dtype = to_float_dtype(common_dtype(operands));
  const auto refuse = [&](const std::string& expected) {
    throw_user<ShapeError>(
        op, fmt::format("{} and {}", to_string(Aval{a.shape(), dtype}), to_string(Aval{b.shape(), dtype})), expected,
        "", user_line(a.loc()));
  };
  const bool vector = b.shape().size() == 1;
  if (b.shape().empty()) refuse("a right-hand side [n] or [..., n, k]");
  const int64_t n = a.shape().back();
  if (b.shape()[b.shape().size() - (vector ? 1 : 2)] != n) refuse("as many rows");
  return composite(key, {a.as(dtype), b.as(dtype)}, [&](const Arrays& in) {
    Array t = in[0].astype(wide(dtype)), rhs = in[1].astype(wide(dtype));
    if (vector) rhs = expand_dims(rhs, -1);
    const auto batch = broadcast_shapes(batch_of(t), batch_of(rhs));
    if (!batch) refuse("batches that broadcast");
    // One triangle for a batch of right-hand sides is not repeated: they are columns of one.
    const bool columns = batch_of(t).empty() && !batch->empty();
    const auto spread = [&](const Array& x) {
      Shape shape = *batch;
      shape.insert(shape.end(), x.shape().end() - 2, x.shape().end());
      return broadcast_to(x, shape);
    };
    rhs = spread(rhs);
    const Shape shape = rhs.shape();
    if (columns) rhs = reshape(moveaxis(rhs, -2, 0), {n, (Size(element_count(*batch)) * shape.back()).value()});
    Array x = f(columns ? t : spread(t), rhs);
    if (columns) {
      Shape moved{n};
      moved.insert(moved.end(), batch->begin(), batch->end());
      moved.push_back(shape.back());
      x = moveaxis(reshape(x, moved), 0, -2);
    }
    if (vector) x = squeeze(x, -1);
    return x.astype(dtype);
  });
}

Array lu_solve_parts(const Array& both, const Array& permutation, const Array& b, bool transposed) {
  const TriangularForm l{.lower = true, .transposed = transposed, .unit = true},
      u{.lower = false, .transposed = transposed};
  if (!transposed) return solve_left(both, solve_left(both, rows_in_order(b, permutation), l), u);
  return rows_in_order(solve_left(both, solve_left(both, b, u), l), argsort(permutation));
}

Array cho_solve_parts(const Array& l, const Array& b, bool lower) {
  // Of l l^H, and u^H u.
  if (is_complex(l.dtype())) {
    const Array first = solve_left(lower ? l : conj(l), b, {.lower = lower, .transposed = !lower});
    return solve_left(lower ? conj(l) : l, first, {.lower = lower, .transposed = lower});
  }
  const TriangularForm first{.lower = lower, .transposed = !lower}, second{.lower = lower, .transposed = lower};
  return solve_left(l, solve_left(l, b, first), second);
}

// Its derivative is a solution of the same system.
Array solve_matrices(const Array& a, const Array& b, bool positive) {
  if (is_complex(a.dtype())) return complex_matrices::solve(a, b, positive);
  return custom_jvp(
      [positive](const Array& a, const Array& b) {
        if (positive) return cho_solve_parts(factor_node(Op::cholesky, symmetric(a)), b, true);
        const LuParts lu = lu_parts(a, factor_node(Op::lu, a));
        return lu_solve_parts(lu.both, lu.permutation.astype(i32), b, false);
      },
      [positive](const Array& a, const Array& b, const Array& da, const Array& db) {
        const Array t = positive ? symmetric(da) : da;
        return solve_matrices(a, db - matmul(t, solve_matrices(a, b, positive)), positive);
      },
      user_line({}))(a, b);
}

Array unit_matrices(const Array& like) { return broadcast_to(eye(like.shape(-1), {}, like.dtype()), like.shape()); }

// --- determinants

Array sign_of_swaps(const LuParts& lu) {
  const int64_t k = lu.pivots.shape(-1);
  const Array moved = lu.pivots.astype(i32) != iota({k}, 0, i32);
  return where(sum(moved.astype(i32), -1) % 2 == 0, full({}, 1, lu.both.dtype()), full({}, -1, lu.both.dtype()));
}

Array det_of_lu(const LuParts& lu) { return prod(diagonal(lu.both, 0, -2, -1), -1) * sign_of_swaps(lu); }

// Adjugate is det(a) a^-1 = before * u^-1 s l^-1, s = diag(last, ..., last, 1), where a = l diag(1, ..., 1, last) u and
// the last pivot, `last`, is taken out of u, so that nothing is divided by it and a may be singular. Where a pivot
// before it is at most `least` * the largest, as with a column of zeros, a is reflected first: then the last alone is
// small, if the rank is n - 1.
class Adjugate {
 public:
  Adjugate(const Array& a, double least) : n_(a.shape(-1)) {
    const Array x = sqrt(iota({n_, 1}, 0, a.dtype()) + 2);  // no two elements are equal
    along_ = x / sqrt(sum(square(x)));
    stuck_ = any_small(factors(a), least);
    const LuParts lu = factors(reflected(a));
    const Array pivots = diagonal(lu.both, 0, -2, -1);
    const Array row = iota({n_, n_}, 0, i32), column = iota({n_, n_}, 1, i32);
    is_last_ = row == n_ - 1 && column == n_ - 1;
    lower_rank_ = any_small(lu, 0);  // all cofactors are zero
    unit_ = unit_matrices(a);
    factors_ = where(lower_rank_ || is_last_, unit_, lu.both);
    order_ = lu.permutation.astype(i32);
    last_ = last_of(pivots);
    before_ = where(lower_rank_, 0, square_of(prod(but_last(pivots), -1) * sign_of_swaps(lu)));
  }

  Array operator()() const {
    const Array last_row = iota({n_, 1}, 0, i32) == n_ - 1;
    return after(before(unit_) * where(last_row, 1, last_));
  }
  Array derivative(const Array& da) const {
    const Array f = solve_right(factors_, before(reflected(da)), {.lower = false});
    const Array row = iota({n_, n_}, 0, i32), column = iota({n_, n_}, 1, i32), on = diagonal(f, 0, -2, -1);
    const Array sum_before = square_of(sum(but_last(on), -1));
    const Array diagonals = where(is_last_, sum_before, last_of(on) + last_ * (sum_before - expand_dims(on, -1)));
    const Array others = -f * where(row == n_ - 1 || column == n_ - 1, 1, last_);
    return after(matmul(where(row == column, diagonals, others), before(unit_)));
  }

 private:
  static LuParts factors(const Array& a) { return lu_parts(a, factor_node(Op::lu, a)); }
  static Array square_of(const Array& x) { return expand_dims(expand_dims(x, -1), -1); }
  Array but_last(const Array& x) const { return slice_in_dim(x, 0, n_ - 1, x.ndim() - 1); }
  Array last_of(const Array& x) const { return expand_dims(slice_in_dim(x, n_ - 1, n_, x.ndim() - 1), -1); }
  Array any_small(const LuParts& lu, double least) const {
    const Array size = abs(diagonal(lu.both, 0, -2, -1));
    return square_of(any(but_last(size) <= least * max(size, -1, true), -1));
  }
  Array reflected(const Array& a) const { return where(stuck_, a - 2 * matmul(matmul(a, along_), turned(along_)), a); }
  Array before(const Array& b) const {
    return solve_left(factors_, rows_in_order(b, order_), {.lower = true, .unit = true});
  }
  Array after(const Array& x) const {
    const Array y = before_ * solve_left(factors_, x, {.lower = false});
    return where(stuck_, 2 * matmul(along_, matmul(turned(along_), y)) - y, y);
  }

  int64_t n_;
  Array unit_, along_, stuck_, is_last_, lower_rank_, factors_, order_, last_, before_;
};

Array adjugate(const Array& a) {
  const double rounding = static_cast<double>(a.shape(-1)) * (a.dtype() == f64 ? 0x1p-52 : 0x1p-23);
  return custom_jvp([](const Array& a) { return Adjugate(a, 0)(); },
                    [=](const Array& a, const Array& da) { return Adjugate(a, rounding).derivative(da); },
                    user_line({}))(a);
}

Array det_matrices(const Array& a) {
  const int64_t n = a.shape(-1);
  const auto at = [&](int64_t i, int64_t j) { return a[{ellipsis, i, j}]; };
  if (n == 0) return ones(batch_of(a), a.dtype());
  if (n == 1) return at(0, 0);
  if (n == 2) return at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0);
  if (n == 3) {
    return at(0, 0) * (at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)) -
           at(0, 1) * (at(1, 0) * at(2, 2) - at(1, 2) * at(2, 0)) +
           at(0, 2) * (at(1, 0) * at(2, 1) - at(1, 1) * at(2, 0));
  }
  if (is_complex(a.dtype())) return complex_matrices::det(a);
  return custom_jvp([](const Array& a) { return det_of_lu(lu_parts(a, factor_node(Op::lu, a))); },
                    [](const Array& a, const Array& da) { return sum(adjugate(a) * turned(da), {-2, -1}); },
                    user_line({}))(a);
}

// Returns the sign in [..., 0], the logarithm in [..., 1].
Array slogdet_matrices(const Array& a) {
  const LuParts lu = lu_parts(a, factor_node(Op::lu, a));
  const Array pivots = diagonal(lu.both, 0, -2, -1);
  return stack({prod(sign(pivots), -1) * sign_of_swaps(lu), sum(log(abs(pivots)), -1)}, -1);
}

}  // namespace

Array cholesky(const Operand& a, bool upper, bool symmetrize_input) {
  const AtLine line(a.loc());
  require_matrices(a, "cholesky", true);
  if (is_complex(a.dtype()))
    return as_one_tree(a.as_array(), [&](const Array& x) {
      const Array l = complex_matrices::cholesky(of_triangle(x, !upper, symmetrize_input));
      return upper ? adjoint(l) : l;
    });
  return in_floats(fmt::format("cholesky {} {}", upper, symmetrize_input), a, [&](const Array& x) {
    const Array l = factor_node(Op::cholesky, of_triangle(x, !upper, symmetrize_input));
    return upper ? turned(l) : l;
  });
}

Lu lu(const Operand& a) {
  const AtLine line(a.loc());
  require_matrices(a, "lu", false);
  if (is_complex(a.dtype())) return as_one_tree(a.as_array(), complex_matrices::lu);
  const LuParts parts = lu_parts(a.as_array(), in_wide("lu", a, [](const Array& x) { return factor_node(Op::lu, x); }));
  return {rounded(parts.both, a), parts.pivots.astype(i32), parts.permutation.astype(i32)};
}

Qr qr(const Operand& a, QrMode mode) {
  const AtLine line(a.loc());
  require_matrices(a, "qr", false);
  if (is_complex(a.dtype()))
    return as_one_tree(a.as_array(), [&](const Array& x) { return complex_matrices::qr(x, mode == QrMode::complete); });
  const bool full = mode == QrMode::complete;
  const Array packed = in_wide(fmt::format("qr {}", full), a,
                               [&](const Array& x) { return factor_node(Op::qr, x, {{Attr::full, int64_t{full}}}); });
  const QrParts parts = qr_parts(a.as_array(), packed, full);
  return {rounded(parts.q, a), rounded(parts.r, a)};
}

Eigh eigh(const Operand& a, bool lower, bool symmetrize_input) {
  const AtLine line(a.loc());
  require_matrices(a, "eigh", true);
  const auto matrix = [&](const Array& x) { return of_triangle(x, lower, symmetrize_input); };
  if (is_complex(a.dtype()))
    return as_one_tree(a.as_array(), [&](const Array& x) { return complex_matrices::eigh(matrix(x)); });
  const Array packed = in_wide(fmt::format("eigh {} {}", lower, symmetrize_input), a,
                               [&](const Array& x) { return eigh_node(matrix(x), true); });
  const EighParts parts = eigh_parts(a.as_array(), packed);
  return {rounded(parts.values, a), rounded(parts.vectors, a)};
}

Array eigvalsh(const Operand& a, bool lower, bool symmetrize_input) {
  const AtLine line(a.loc());
  require_matrices(a, "eigvalsh", true);
  const auto matrix = [&](const Array& x) { return of_triangle(x, lower, symmetrize_input); };
  if (is_complex(a.dtype()))
    return as_one_tree(a.as_array(), [&](const Array& x) { return complex_matrices::eigh(matrix(x)).eigenvalues; });
  return in_floats(fmt::format("eigvalsh {} {}", lower, symmetrize_input), a,
                   [&](const Array& x) { return eigh_node(matrix(x), false); });
}

Svd svd(const Operand& a, bool full_matrices) {
  const AtLine line(a.loc());
  require_matrices(a, "svd", false);
  if (is_complex(a.dtype()))
    return as_one_tree(a.as_array(), [&](const Array& x) { return complex_matrices::svd(x, full_matrices); });
  const Array packed = in_wide(fmt::format("svd {}", full_matrices), a,
                               [&](const Array& x) { return svd_node(x, full_matrices, true); });
  const SvdParts parts = svd_parts(a.as_array(), packed, full_matrices);
  return {rounded(parts.u, a), rounded(parts.s, a), rounded(parts.vt, a)};
}

Array svdvals(const Operand& a) {
  const AtLine line(a.loc());
  require_matrices(a, "svdvals", false);
  if (is_complex(a.dtype()))
    return as_one_tree(a.as_array(), [](const Array& x) { return complex_matrices::svd(x, false).s; });
  return in_floats("svdvals", a, [](const Array& x) { return svd_node(x, false, false); });
}

Array triangular_solve(const Operand& t, const Operand& b, TriangularOptions options) {
  const AtLine line(t.loc());
  require_matrices(t, "triangular_solve", true);
  require_matrices(b, "triangular_solve", false);
  const std::array<const Operand*, 2> operands{&t, &b};
  const DType dtype = to_float_dtype(common_dtype(operands));
  const Shape& rows = b.shape();
  if (Shape(rows.begin(), rows.end() - 2) != Shape(t.shape().begin(), t.shape().end() - 2) ||
      rows[rows.size() - (options.left_side ? 2 : 1)] != t.shape().back()) {
    throw_user<ShapeError>(
        "triangular_solve", fmt::format("{} and {}", to_string(Aval{t.shape(), dtype}), to_string(Aval{rows, dtype})),
        options.left_side ? "[..., n, n] and [..., n, k]" : "[..., n, n] and [..., k, n]", "", user_line(t.loc()));
  }
  const TriangularForm form{options.lower, options.transpose_a, options.unit_diagonal};
  const std::string key =
      fmt::format("triangular_solve {} {} {} {}", options.left_side, form.lower, form.transposed, form.unit);
  return composite(key, {t.as(dtype), b.as(dtype)}, [&](const Arrays& in) {
    const Array left = in[0].astype(wide(dtype)), right = in[1].astype(wide(dtype));
    return (options.left_side ? solve_left(left, right, form) : solve_right(left, right, form)).astype(dtype);
  });
}

Array solve(const Operand& a, const Operand& b, bool positive) {
  return with_right_side(fmt::format("solve {}", positive), a, b,
                         [&](const Array& t, const Array& rhs) { return solve_matrices(t, rhs, positive); });
}

Array cho_solve(const Operand& factor, const Operand& b, bool lower) {
  return with_right_side(fmt::format("cho_solve {}", lower), factor, b,
                         [&](const Array& l, const Array& rhs) { return cho_solve_parts(l, rhs, lower); });
}

Array lu_solve(const Lu& factors, const Operand& b, bool transposed) {
  const AtLine line(b.loc());
  const Array permutation = factors.permutation;
  const Shape& shape = factors.lu.shape();
  const bool vector = b.shape().size() == 1;
  const auto refuse = [&](const std::string& expected, const std::string& hint) {
    throw_user<ShapeError>(
        "lu_solve", fmt::format("{} and {}", to_string(factors.lu.aval()), to_string(Aval{b.shape(), b.dtype()})),
        expected, hint, user_line(b.loc()));
  };
  if (shape.size() > 2 || b.shape().size() > 2) refuse("one matrix and [n] or [n, k]", "use vmap for a batch");
  if (shape[0] != shape[1]) refuse("the factors of a square matrix", "");
  if (b.shape().empty() || b.shape()[0] != shape[0]) refuse("as many rows", "");
  const DType dtype = factors.lu.dtype();
  return composite(
      fmt::format("lu_solve {}", transposed), {factors.lu, permutation, b.as(dtype)}, [&](const Arrays& in) {
        const Array rhs = in[2].astype(wide(dtype));
        const Array x =
            lu_solve_parts(in[0].astype(wide(dtype)), in[1], vector ? expand_dims(rhs, -1) : rhs, transposed);
        return (vector ? squeeze(x, -1) : x).astype(dtype);
      });
}

Array inv(const Operand& a) {
  const AtLine line(a.loc());
  require_matrices(a, "inv", true);
  return in_floats("inv", a, [](const Array& x) { return solve_matrices(x, unit_matrices(x), false); });
}

Array det(const Operand& a) {
  const AtLine line(a.loc());
  require_matrices(a, "det", true);
  return in_floats("det", a, det_matrices);
}

Slogdet slogdet(const Operand& a) {
  const AtLine line(a.loc());
  require_matrices(a, "slogdet", true);
  if (is_complex(a.dtype())) return as_one_tree(a.as_array(), complex_matrices::slogdet);
  const Array both = in_floats("slogdet", a, [](const Array& x) {
    return custom_jvp(
        slogdet_matrices,
        [](const Array& y, const Array& dy) {
          const Array d = sum(diagonal(solve_matrices(y, dy, false), 0, -2, -1), -1);
          return stack({zeros_like(d), d}, -1);
        },
        user_line({}))(x);
  });
  return {both[{ellipsis, 0}], both[{ellipsis, 1}]};
}

}  // namespace neap::linalg
