// Ordinary differential equations: jax.experimental.ode.
#pragma once

#include <neap/solvers.h>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// OdeOptions say how exactly odeint() computes: a step is taken where the root of the mean of (error / (atol + rtol
/// |y|))^2 is at most 1.
struct OdeOptions {
  double rtol = 1.4e-8, atol = 1.4e-8;  // of the error of a step
  std::optional<int64_t> mxstep = {};   // steps at most between two times; beyond them values are NaN
  std::optional<double> hmax = {};      // the longest step
};

namespace detail {

/// f takes the leaves of y, then t; the result has a first axis, of times.
std::vector<Array> odeint_of(const LeafFunction& f, const std::vector<Array>& y0, const Operand& t,
                             const OdeOptions& options, std::source_location loc);

}  // namespace detail

/// Solves dy/dt = f(y, t), y(t[0]) = y0, and returns y at the times t [n], n of 1 or more, strictly ascending: a tree
/// like y0 whose arrays have one more axis of n in front. f gives a tree like y0, of floating arrays; t is a scalar to
/// it. The method is Dormand and Prince's of order 5(4) with steps of adapted length, which ends at none of the times:
/// values between steps are those of a polynomial of degree 4 (Shampine, 1986).
///
/// Memory does not depend on the number of steps. Reverse mode solves the adjoint equation backwards, beginning anew at
/// each of the times, with the same tolerances; it gives derivatives in y0, in t and in what f closes over. f must have
/// reverse derivatives, whether or not they are asked for. Forward mode is had over reverse mode alone:
/// jacfwd(grad(...)) is a Hessian, grad(grad(...)) a UserError. y is NaN where t does not ascend.
template <class F, class Y>
Y odeint(const F& f, const Y& y0, const Operand& t, const OdeOptions& options = {},
         std::source_location loc = std::source_location::current()) {
  using Call = detail::CallOf<F, Y, Array>;
  static_assert(Call::ok || sizeof(detail::NoCall<F, Y, Array>) > 0);  // which says why
  const detail::LeafFunction leafwise = [&](const std::vector<Array>& in) {
    const std::span<const Array> all(in);
    std::vector<Array> out = tree_leaves(std::invoke(f, tree_unflatten(y0, all.first(in.size() - 1)), in.back()));
    if (out.size() + 1 != in.size()) detail::vector_differs("odeint", out.size(), in.size() - 1, loc);
    return out;
  };
  return tree_unflatten(y0, std::span<const Array>(detail::odeint_of(leafwise, tree_leaves(y0), t, options, loc)));
}

}  // namespace neap

#pragma GCC visibility pop
