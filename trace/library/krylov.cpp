// Krylov methods on leaves: cg, bicgstab, and the choice of one.
#include <neap/control.h>

#include <limits>

#include <fmt/format.h>

#include "trace/library/krylov.h"

namespace neap::krylov {

using namespace tracing;
using detail::while_of;

namespace {

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

}  // namespace

}  // namespace neap::krylov

namespace neap::detail {

using namespace tracing;
using Loc = std::source_location;

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
    if (is_complex(aval.dtype) != is_complex(b[0].dtype()))
      throw_user<DTypeError>(op, fmt::format("b holds {} and {}", to_string(b[0].aval()), to_string(aval)),
                             "real arrays, or complex ones", "", loc);
    if (x0.empty()) first.push_back(zeros_like(b[i]));
    if (i < first.size() && !(first[i].aval(loc) == aval))
      throw_user<ShapeError>(op, fmt::format("x0 is {}", to_string(first[i].aval(loc))),
                             fmt::format("{}, as b", to_string(aval)), "", loc);
  }
  if (first.size() != b.size()) vector_differs(op, first.size(), b.size(), loc);
  const int64_t most =
      std::min<int64_t>(options.maxiter.value_or(10 * elements), std::numeric_limits<int32_t>::max() - 1);
  const LeafSolver solve = [&](const LeafFunction& a, const Arrays& right) {
    const krylov::System system{a, precondition, options, most, dtype, op, loc};
    return method == Krylov::cg         ? krylov::solve_cg(system, right, first)
           : method == Krylov::bicgstab ? krylov::solve_bicgstab(system, right, first)
                                        : krylov::solve_gmres(system, right, first);
  };
  const bool symmetric = method == Krylov::cg && is_real;
  return as_one(b, [&](const Arrays& in) {
    return linear_solve_of(op, matvec, solve, symmetric ? LeafSolver() : solve, symmetric, in, loc);
  });
}

}  // namespace neap::detail
