// Krylov methods on leaves: vectors are lists of arrays. Coefficients are computed in one dtype, to which all of them
// promote (half types: f32).
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/solvers.h>

#include <limits>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap::detail {

using namespace tracing;
using Loc = std::source_location;

namespace {

// System is what a method is given: A x = b, an approximate inverse of A, when to stop.
struct System {
  const LeafFunction& a;
  const LeafFunction& m;  // may be empty
  KrylovOptions options;
  int64_t maxiter;
  DType dtype;  // of coefficients
  std::string_view op;
  Loc loc;

  Arrays preconditioned(const Arrays& r) const { return m ? m(r) : r; }
};

// Returns the sum of conj(x) y, as a scalar of the dtype.
Array inner_product(const Arrays& x, const Arrays& y, DType dtype) {
  Array total = zeros({}, dtype);
  for (size_t i = 0; i < x.size(); ++i) {
    const Array a = x[i].astype(wide(x[i].dtype())), b = y[i].astype(wide(y[i].dtype()));
    total = total + sum(is_complex(a.dtype()) ? conj(a) * b : a * b).astype(dtype);
  }
  return total;
}
Array squared_norm(const Arrays& x, DType dtype) { return real(inner_product(x, x, dtype)); }

// Returns x + factor y, in the dtypes of x.
Arrays axpy(const Arrays& x, const Array& factor, const Arrays& y) {
  Arrays out;
  for (size_t i = 0; i < x.size(); ++i) {
    const DType t = x[i].dtype();
    out.push_back(x[i] + (is_complex(t) || !is_complex(factor.dtype()) ? factor : real(factor)).astype(t) * y[i]);
  }
  return out;
}
Arrays minus(const Arrays& x, const Arrays& y) {
  Arrays out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(x[i] - y[i]);
  return out;
}

// Returns the square of the norm of the residual that ends the iteration.
Array goal(const System& s, const Arrays& b) {
  const DType t = real_dtype(s.dtype);
  return maximum(square(full({}, s.options.tol, t)) * squared_norm(b, s.dtype), square(full({}, s.options.atol, t)));
}

// State is a carry whose parts are vectors and scalars.
class State {
 public:
  explicit State(size_t leaves) : leaves_(leaves) {}
  State(size_t leaves, const Arrays& packed) : leaves_(leaves), packed_(packed) {}
  Arrays vector() {
    const auto begin = packed_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += leaves_;
    return {begin, begin + static_cast<std::ptrdiff_t>(leaves_)};
  }
  Array scalar() { return packed_[next_++]; }
  State& add(const Arrays& vector) {
    packed_.insert(packed_.end(), vector.begin(), vector.end());
    return *this;
  }
  State& add(const Array& scalar) {
    packed_.push_back(scalar);
    return *this;
  }
  const Arrays& packed() const { return packed_; }

 private:
  size_t leaves_, next_ = 0;
  Arrays packed_;
};

Array counter() { return zeros({}, DType::i32); }

Arrays solve_cg(const System& s, const Arrays& b, const Arrays& x0) {
  const size_t n = b.size();
  const Array end = goal(s, b);
  const Arrays r0 = minus(b, s.a(x0)), z0 = s.preconditioned(r0);
  const Array gamma0 = real(inner_product(r0, z0, s.dtype));
  State init(n);
  init.add(counter()).add(s.m ? squared_norm(r0, s.dtype) : gamma0).add(x0).add(r0).add(z0);
  if (s.m) init.add(gamma0);
  const auto more = [&](const Arrays& in) { return Arrays{(in[1] > end) & (in[0] < s.maxiter)}; };
  const auto step = [&](const Arrays& in) {
    State now(n, in);
    const Array k = now.scalar(), rr = now.scalar();
    const Arrays x = now.vector(), r = now.vector(), p = now.vector();
    const Array gamma = s.m ? now.scalar() : rr;
    const Arrays ap = s.a(p);
    const Array alpha = gamma / real(inner_product(p, ap, s.dtype));
    const Arrays next_r = axpy(r, -alpha, ap), z = s.preconditioned(next_r);
    const Array next_gamma = real(inner_product(next_r, z, s.dtype));
    State next(n);
    next.add(k + 1).add(s.m ? squared_norm(next_r, s.dtype) : next_gamma).add(axpy(x, alpha, p)).add(next_r);
    next.add(axpy(z, next_gamma / gamma, p));
    if (s.m) next.add(next_gamma);
    return next.packed();
  };
  State result(n, while_of(s.op, 0, more, step, init.packed(), s.loc));
  result.scalar(), result.scalar();
  return result.vector();
}

Arrays solve_bicgstab(const System& s, const Arrays& b, const Arrays& x0) {
  const size_t n = b.size();
  const Array end = goal(s, b), one = ones({}, s.dtype);
  const Arrays r0 = minus(b, s.a(x0));
  State init(n);
  init.add(counter()).add(squared_norm(r0, s.dtype)).add(one).add(one).add(one);
  init.add(x0).add(r0).add(r0).add(r0);  // p and q are multiplied by 0 at first
  const auto more = [&](const Arrays& in) { return Arrays{(in[1] > end) & (in[0] < s.maxiter)}; };
  const auto step = [&](const Arrays& in) {
    State now(n, in);
    const Array k = now.scalar();
    now.scalar();
    const Array alpha = now.scalar(), omega = now.scalar(), rho = now.scalar();
    const Arrays x = now.vector(), r = now.vector(), p = now.vector(), q = now.vector();
    const Array next_rho = inner_product(r0, r, s.dtype);
    const Array beta = where(k == 0, zeros_like(rho), next_rho / rho * (alpha / omega));
    const Arrays next_p = axpy(r, beta, axpy(p, -omega, q)), p_hat = s.preconditioned(next_p), next_q = s.a(p_hat);
    const Array next_alpha = next_rho / inner_product(r0, next_q, s.dtype);
    const Arrays half_r = axpy(r, -next_alpha, next_q), half_x = axpy(x, next_alpha, p_hat);
    const Array early = squared_norm(half_r, s.dtype) <= end;
    const Arrays s_hat = s.preconditioned(half_r), t = s.a(s_hat);
    const Array least = inner_product(t, half_r, s.dtype) / inner_product(t, t, s.dtype);
    const Array next_omega = where(early, zeros_like(least), least);
    const Arrays next_r = axpy(half_r, -next_omega, t);
    // Where a coefficient is zero or no number there is no next step.
    const auto fails = [](const Array& c) { return (c == 0) | isnan(real(c)); };
    const Array broken = fails(next_rho) | fails(next_alpha) | (fails(next_omega) & !early);
    const auto keep = [&](const Arrays& old, const Arrays& fresh) {
      Arrays out;
      for (size_t i = 0; i < n; ++i) out.push_back(where(broken, old[i], fresh[i]));
      return out;
    };
    State next(n);
    next.add(where(broken, static_cast<int32_t>(s.maxiter), k + 1)).add(squared_norm(next_r, s.dtype));
    next.add(next_alpha).add(next_omega).add(next_rho);
    next.add(keep(x, axpy(half_x, next_omega, s_hat))).add(keep(r, next_r)).add(next_p).add(next_q);
    return next.packed();
  };
  State result(n, while_of(s.op, 0, more, step, init.packed(), s.loc));
  for (int i = 0; i < 5; ++i) result.scalar();
  return result.vector();
}

Array magnitude(const Array& z) { return is_complex(z.dtype()) ? sqrt(real(z * conj(z))) : abs(z); }

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
      next.add(j + 1).add(norm * magnitude(next_q[{j + 1, 0}])).add(next_v).add(next_q);
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
          const Array at = m - 1 - i;
          return so_far.at(at).set((right[at] - sum(triangle[at] * so_far)) / triangle[{at, at}]);
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

}  // namespace

Arrays krylov_of(Krylov method, const LeafFunction& matvec, const LeafFunction& precondition, const Arrays& b,
                 const Arrays& x0, const KrylovOptions& options, Loc loc) {
  const std::string_view op = method == Krylov::cg ? "cg" : method == Krylov::bicgstab ? "bicgstab" : "gmres";
  const auto refuse = [&](std::string got, std::string expected) {
    throw_user<OptionError>(op, std::move(got), std::move(expected), "", loc);
  };
  if (!(options.tol >= 0) || !(options.atol >= 0))
    refuse(fmt::format("tol = {}, atol = {}", options.tol, options.atol), "0 or more");
  if (options.maxiter && *options.maxiter < 0) refuse(fmt::format("maxiter = {}", *options.maxiter), "0 or more");
  if (options.restart < 1) refuse(fmt::format("restart = {}", options.restart), "1 or more");
  if (b.empty()) return {};
  int64_t elements = 0;
  DType dtype = DType::f32;
  bool is_real = true;
  Arrays first = x0;
  for (size_t i = 0; i < b.size(); ++i) {
    check_usable(b[i], op, loc);
    const Aval& aval = b[i].aval(loc);
    if (!is_inexact(aval.dtype))
      throw_user<DTypeError>(op, fmt::format("b is {}", to_string(aval)), "a floating dtype", "b.astype(f32)", loc);
    elements += b[i].size();
    dtype = promote(dtype, wide(aval.dtype));
    is_real = is_real && !is_complex(aval.dtype);
    if (x0.empty()) first.push_back(zeros_like(b[i]));
    if (i < first.size() && !(first[i].aval(loc) == aval))
      throw_user<ShapeError>(op, fmt::format("x0 is {}", to_string(first[i].aval(loc))),
                             fmt::format("{}, as b", to_string(aval)), "", loc);
  }
  if (first.size() != b.size()) vector_differs(op, first.size(), b.size(), loc);
  const int64_t most =
      std::min<int64_t>(options.maxiter.value_or(10 * elements), std::numeric_limits<int32_t>::max() - 1);
  const LeafSolver solve = [&](const LeafFunction& a, const Arrays& right) {
    const System system{a, precondition, options, most, dtype, op, loc};
    return method == Krylov::cg         ? solve_cg(system, right, first)
           : method == Krylov::bicgstab ? solve_bicgstab(system, right, first)
                                        : solve_gmres(system, right, first);
  };
  const bool symmetric = method == Krylov::cg && is_real;
  return as_one(b, [&](const Arrays& in) { return linear_solve_of(op, matvec, solve, solve, symmetric, in, loc); });
}

}  // namespace neap::detail
