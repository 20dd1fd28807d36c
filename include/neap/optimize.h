// Minima of functions of many variables: jax.scipy.optimize.
#pragma once

#include <neap/solvers.h>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// MinimizeMethod names a method: bfgs keeps a matrix [n, n] of the n variables, lbfgs the last steps alone.
enum class MinimizeMethod : uint8_t { bfgs, lbfgs };

/// MinimizeOptions say how minimize() works and when it stops.
struct MinimizeOptions {
  MinimizeMethod method = MinimizeMethod::bfgs;  // how the next direction is found
  double gtol = 1e-5;                            // where no element of the gradient is larger
  std::optional<int64_t> maxiter = {};           // iterations at most: 200 for each variable
  int64_t line_search_maxiter = 20;              // evaluations at most in each of them
  int64_t history = 10;                          // lbfgs: steps that are kept
};

/// Minimized is what minimize() found: scalars but for x and jac, which are trees like x0, and hess_inv.
template <class T>
struct Minimized {
  T x;              // where the function is least
  Array fun;        // its value there
  T jac;            // its gradient
  Array hess_inv;   // bfgs: the approximate inverse of the Hessian [n, n], of all leaves; lbfgs: [0, 0]
  Array success;    // bool: whether the gradient is as small as gtol asks
  Array status;     // i32: 0 success, 1 after maxiter, 3 no step along the last direction makes it less
  Array nit, nfev;  // i32: iterations, evaluations of the function and its gradient
};

namespace detail {

/// f maps leaves to a scalar. Returns x, the gradient, fun, hess_inv (no value: lbfgs), success, status, nit, nfev.
std::vector<Array> minimize_of(const LeafFunction& f, const std::vector<Array>& x0, const MinimizeOptions& options,
                               std::source_location loc);

}  // namespace detail

/// Finds a local minimum of f, a function of one tree of real floating arrays that gives a scalar and has a gradient,
/// beginning at x0. Step lengths satisfy the strong Wolfe conditions (c1 = 1e-4, c2 = 0.9; Nocedal and Wright,
/// Numerical Optimization, algorithms 3.5, 3.6, 6.1 and 7.4). Differences of f that are rounding count as none. What
/// was reached is returned, whether or not it is a minimum: see success. A derivative of the minimum in what f closes
/// over is had by custom_root() of grad(f).
template <class F, class T>
Minimized<T> minimize(const F& f, const T& x0, const MinimizeOptions& options = {},
                      std::source_location loc = std::source_location::current()) {
  using Call = detail::CallOf<F, T>;
  static_assert(Call::ok || sizeof(detail::NoCall<F, T>) > 0);  // which says why
  const detail::LeafFunction leafwise = [&](const std::vector<Array>& x) {
    return tree_leaves(std::invoke(f, tree_unflatten(x0, std::span<const Array>(x))));
  };
  const std::vector<Array> first = tree_leaves(x0), out = detail::minimize_of(leafwise, first, options, loc);
  const std::span<const Array> all(out), rest = all.subspan(2 * first.size());
  return {tree_unflatten(x0, all.first(first.size())),
          rest[0],
          tree_unflatten(x0, all.subspan(first.size(), first.size())),
          rest[1],
          rest[2],
          rest[3],
          rest[4],
          rest[5]};
}

}  // namespace neap

#pragma GCC visibility pop
