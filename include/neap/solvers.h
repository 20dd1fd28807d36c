// Equations whose functions are given as functions: linear systems (jax.scipy.sparse.linalg: cg, bicgstab, gmres), and
// the derivatives of any solver by the implicit function theorem (jax.lax: custom_linear_solve, custom_root).
//
// A vector is a tree of floating arrays, all of them real or all complex; a linear function maps such a tree to one
// like it. Derivatives do not go through the iterations: they solve one more system, in what the function closes over
// and in the right side, forward and backward, to any order (custom_root: the fourth). A function that is not linear is
// not noticed. Outside of jit a solver is compiled at each call that its function closes over another C++ number: close
// over arrays. Values are compared with JAX's: tests/golden/solvers.json.
#pragma once

#include <neap/numpy.h>
#include <neap/transform_detail.h>

#include <functional>
#include <optional>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// KrylovOptions say when cg(), bicgstab() and gmres() stop: where the norm of the residual b - A x is at most the
/// larger of tol |b| and atol.
struct KrylovOptions {
  double tol = 1e-5;                    // relative to the norm of b
  double atol = 0;                      // absolute
  std::optional<int64_t> maxiter = {};  // steps at most (gmres: restarts); ten times the number of elements of b
  int64_t restart = 20;                 // gmres: vectors that are kept; they are what its memory is
};

namespace detail {

/// A LeafSolver finds x with f(x) = b (of custom_root: with f(x) = 0, beginning at b), on leaves.
using LeafSolver = std::function<std::vector<Array>(const LeafFunction& f, const std::vector<Array>& b)>;

/// `transposed` solves the transposed system, and may be empty; symmetric: as `solve`.
std::vector<Array> linear_solve_of(std::string_view op, const LeafFunction& matvec, const LeafSolver& solve,
                                   const LeafSolver& transposed, bool symmetric, const std::vector<Array>& b,
                                   std::source_location loc);
std::vector<Array> root_of(const LeafFunction& f, const LeafSolver& solve, const LeafSolver& tangent_solve,
                           const std::vector<Array>& guess, std::source_location loc);

enum class Krylov : uint8_t { cg, bicgstab, gmres };
/// `precondition` may be empty, and so may x0: zeros.
std::vector<Array> krylov_of(Krylov method, const LeafFunction& matvec, const LeafFunction& precondition,
                             const std::vector<Array>& b, const std::vector<Array>& x0, const KrylovOptions& options,
                             std::source_location loc);

/// Throws the error for a function that gives so many arrays for a tree of `expected`.
[[noreturn]] void vector_differs(std::string_view op, size_t got, size_t expected, std::source_location loc);

/// Returns f, from trees like `like` to such trees, on leaves. A matrix is the function that multiplies by it.
template <class F, class T>
LeafFunction leafwise(std::string_view op, const F& f, const T& like, std::source_location loc) {
  if constexpr (std::is_same_v<F, Array>) {
    return [op, &f, loc](const std::vector<Array>& x) {
      if (x.size() != 1) vector_differs(op, 1, x.size(), loc);
      return std::vector<Array>{dot(f, x[0])};
    };
  } else {
    using Call = CallOf<F, T>;
    static_assert(Call::ok || sizeof(NoCall<F, T>) > 0);  // which says why
    return [op, &f, &like, loc](const std::vector<Array>& x) {
      std::vector<Array> out = tree_leaves(std::invoke(f, tree_unflatten(like, std::span<const Array>(x))));
      if (out.size() != x.size()) vector_differs(op, out.size(), x.size(), loc);
      return out;
    };
  }
}

/// Returns a solver, from (function, tree) to a tree, on leaves.
template <class Solve, class T>
LeafSolver leaf_solver(std::string_view op, const Solve& solve, const T& like, std::source_location loc) {
  return [op, &solve, &like, loc](const LeafFunction& f, const std::vector<Array>& b) {
    const auto on_trees = [&](const T& x) { return tree_unflatten(like, std::span<const Array>(f(tree_leaves(x)))); };
    std::vector<Array> out = tree_leaves(std::invoke(solve, on_trees, tree_unflatten(like, std::span<const Array>(b))));
    if (out.size() != b.size()) vector_differs(op, out.size(), b.size(), loc);
    return out;
  };
}

template <class A, class T, class M>
T krylov(Krylov method, std::string_view op, const A& a, const T& b, const std::optional<T>& x0,
         const KrylovOptions& options, const M& m, std::source_location loc) {
  LeafFunction precondition;
  if constexpr (!std::is_same_v<M, std::nullptr_t>) precondition = leafwise(op, m, b, loc);
  const std::vector<Array> first = x0 ? tree_leaves(*x0) : std::vector<Array>();
  return tree_unflatten(b, std::span<const Array>(krylov_of(method, leafwise(op, a, b, loc), precondition,
                                                            tree_leaves(b), first, options, loc)));
}

}  // namespace detail

/// Returns solve(matvec, b), an x like b with matvec(x) = b, and gives it the derivatives of that solution: of what
/// matvec closes over, and of b; those of solve's steps are never taken. matvec is linear and has derivatives. Reverse
/// mode needs the transposed system: symmetric says that it is the same.
template <class MatVec, class T, class Solve>
T custom_linear_solve(const MatVec& matvec, const T& b, const Solve& solve, bool symmetric = false,
                      std::source_location loc = std::source_location::current()) {
  constexpr std::string_view op = "custom_linear_solve";
  return tree_unflatten(b, std::span<const Array>(detail::linear_solve_of(op, detail::leafwise(op, matvec, b, loc),
                                                                          detail::leaf_solver(op, solve, b, loc), {},
                                                                          symmetric, tree_leaves(b), loc)));
}
/// Does the same; transpose_solve(vecmat, c) returns a y with vecmat(y) = c, where vecmat is the transpose of matvec.
template <class MatVec, class T, class Solve, class TransposeSolve>
  requires(!std::is_convertible_v<TransposeSolve, bool>)
T custom_linear_solve(const MatVec& matvec, const T& b, const Solve& solve, const TransposeSolve& transpose_solve,
                      std::source_location loc = std::source_location::current()) {
  constexpr std::string_view op = "custom_linear_solve";
  return tree_unflatten(b, std::span<const Array>(detail::linear_solve_of(
                               op, detail::leafwise(op, matvec, b, loc), detail::leaf_solver(op, solve, b, loc),
                               detail::leaf_solver(op, transpose_solve, b, loc), false, tree_leaves(b), loc)));
}

/// Returns solve(f, guess), a tree x like the guess with f(x) = 0, and gives it the derivatives of that root in what f
/// closes over (of the guess: zero). tangent_solve(g, y) returns an x with g(x) = y for the linear function g, f's
/// derivative there: y / g(ones_like(y)) of scalars, linalg::solve(jacfwd(g)(y), y) of short vectors, or cg() and its
/// kin.
template <class F, class T, class Solve, class TangentSolve>
T custom_root(const F& f, const T& guess, const Solve& solve, const TangentSolve& tangent_solve,
              std::source_location loc = std::source_location::current()) {
  constexpr std::string_view op = "custom_root";
  return tree_unflatten(guess, std::span<const Array>(detail::root_of(
                                   detail::leafwise(op, f, guess, loc), detail::leaf_solver(op, solve, guess, loc),
                                   detail::leaf_solver(op, tangent_solve, guess, loc), tree_leaves(guess), loc)));
}

/// Solves A x = b for a symmetric (Hermitian) positive definite A by conjugate gradients, beginning at x0 (zeros unless
/// given). A is a function from trees like b to such trees, or a matrix; m approximates its inverse, likewise. Each
/// step calls A once and holds four vectors in all. What is reached within maxiter steps is returned, converged or not.
/// Source: Hestenes and Stiefel (1952).
template <class A, class T, class M = std::nullptr_t>
T cg(const A& a, const T& b, const std::optional<std::type_identity_t<T>>& x0 = {}, const KrylovOptions& options = {},
     const M& m = nullptr, std::source_location loc = std::source_location::current()) {
  return detail::krylov(detail::Krylov::cg, "cg", a, b, x0, options, m, loc);
}
/// Solves A x = b for any regular A by the stabilised biconjugate gradient method, as cg(); a step calls A twice and
/// holds seven vectors. It ends early where it breaks down. Source: van der Vorst (1992).
template <class A, class T, class M = std::nullptr_t>
T bicgstab(const A& a, const T& b, const std::optional<std::type_identity_t<T>>& x0 = {},
           const KrylovOptions& options = {}, const M& m = nullptr,
           std::source_location loc = std::source_location::current()) {
  return detail::krylov(detail::Krylov::bicgstab, "bicgstab", a, b, x0, options, m, loc);
}
/// Solves A x = b for any regular A by the generalised minimal residual method, as cg(); it holds restart + 6 vectors.
/// The residual that ends it is that of m(b - A x), against m(b). Source: Saad and Schultz (1986).
template <class A, class T, class M = std::nullptr_t>
T gmres(const A& a, const T& b, const std::optional<std::type_identity_t<T>>& x0 = {},
        const KrylovOptions& options = {}, const M& m = nullptr,
        std::source_location loc = std::source_location::current()) {
  return detail::krylov(detail::Krylov::gmres, "gmres", a, b, x0, options, m, loc);
}

}  // namespace neap

#pragma GCC visibility pop
