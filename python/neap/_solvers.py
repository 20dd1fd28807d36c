"""Equations, minima and differential equations whose functions are given as functions of trees."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _neap
from ._neap import Array
from ._transforms import _Kept
from ._tree import PyTreeDef, tree_flatten, tree_unflatten


def _wrong(op: str, got: str, expected: str) -> Exception:
    return _neap.UserError(_neap._message(op, got, expected))


def _no_option(op: str, got: str, expected: str) -> Exception:
    return _neap.OptionError(_neap._message(op, got, expected))


def _leafwise(op: str, f: Callable, treedef: PyTreeDef, what: str) -> Callable:
    """Returns f, from trees of a structure to such trees, on leaves."""

    def on_leaves(leaves: list) -> list:
        out, got = tree_flatten(f(tree_unflatten(treedef, leaves)))
        if got != treedef:
            raise _wrong(op, f"{what} gives {got!r}", f"{treedef!r}")
        return out

    return on_leaves


def _linear(op: str, a: Any, treedef: PyTreeDef, what: str) -> Callable:
    """Does the same of a linear function or a matrix."""
    if callable(a):
        return _leafwise(op, a, treedef, what)
    if treedef.spec != ("leaf",):
        raise TypeError(_neap._message(op, f"{what} is an array, and b a tree", "a function of trees"))
    return lambda leaves: [_neap.dot(a, leaves[0])]


def _solver(op: str, solve: Callable | None, treedef: PyTreeDef, what: str) -> Callable | None:
    """Returns solve(function, tree) as a function of (function of leaves, leaves)."""
    if solve is None:
        return None

    def on_leaves(function: Callable, leaves: list) -> list:
        def on_trees(tree: Any) -> Any:
            inner, got = tree_flatten(tree)
            if got != treedef:
                raise _wrong(op, f"{what} calls its function with {got!r}", f"{treedef!r}")
            return tree_unflatten(treedef, function(inner))

        out, got = tree_flatten(solve(on_trees, tree_unflatten(treedef, leaves)))
        if got != treedef:
            raise _wrong(op, f"{what} gives {got!r}", f"{treedef!r}")
        return out

    return on_leaves


def custom_linear_solve(
    matvec: Callable, b: Any, solve: Callable, transpose_solve: Callable | None = None, symmetric: bool = False,
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """Returns solve(matvec, b), an x like b with matvec(x) = b, and gives it the derivatives of that solution: of what
    matvec closes over, and of b. Reverse mode needs transpose_solve(vecmat, c), or a symmetric matvec."""
    if has_aux:
        raise NotImplementedError("custom_linear_solve: has_aux")
    op = "custom_linear_solve"
    leaves, treedef = tree_flatten(b)
    solvers = _solver(op, solve, treedef, "solve"), _solver(op, transpose_solve, treedef, "transpose_solve")
    out = _neap._linear_solve(op, _leafwise(op, matvec, treedef, "matvec"), *solvers, symmetric, leaves)
    return tree_unflatten(treedef, out)


def custom_root(f: Callable, initial_guess: Any, solve: Callable, tangent_solve: Callable, has_aux: bool = False) -> Any:
    """Returns solve(f, initial_guess), a tree x with f(x) = 0, and gives it the derivatives of that root in what f closes
    over. tangent_solve(g, y) returns an x with g(x) = y for the linear function g, f's derivative there."""
    if has_aux:
        raise NotImplementedError("custom_root: has_aux")
    op = "custom_root"
    leaves, treedef = tree_flatten(initial_guess)
    solvers = _solver(op, solve, treedef, "solve"), _solver(op, tangent_solve, treedef, "tangent_solve")
    return tree_unflatten(treedef, _neap._root(_leafwise(op, f, treedef, "f"), *solvers, leaves))


def _krylov(method: str, A: Any, b: Any, x0: Any, tol: float, atol: float, maxiter: int | None, M: Any, restart: int = 20) -> Any:
    leaves, treedef = tree_flatten(b)
    matvec = _linear(method, A, treedef, "A")
    inverse = None if M is None else _linear(method, M, treedef, "M")
    first: list = []
    if x0 is not None:
        first, got = tree_flatten(x0)
        if got != treedef:
            raise _wrong(method, f"x0 of the structure {got!r}", f"that of b, {treedef!r}")
    out = _neap._krylov(method, matvec, inverse, leaves, first, tol, atol, maxiter, restart)
    return tree_unflatten(treedef, out)


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solves A x = b for a symmetric (Hermitian) positive definite A, a function of trees like b or a matrix, by conjugate
    gradients, until the residual's norm is at most max(tol |b|, atol). M approximates the inverse of A. Returns (x, None)."""
    return _krylov("cg", A, b, x0, tol, atol, maxiter, M), None


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solves A x = b for any regular A by the stabilised biconjugate gradient method, as cg()."""
    return _krylov("bicgstab", A, b, x0, tol, atol, maxiter, M), None


def gmres(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, restart: int = 20, maxiter: int | None = None,
    M: Any = None, solve_method: str = "batched",
) -> tuple[Any, None]:  # fmt: skip
    """Solves A x = b for any regular A by the generalised minimal residual method, as cg(); it holds restart + 6 vectors."""
    if solve_method not in ("batched", "incremental"):
        raise _no_option("gmres", f'solve_method "{solve_method}"', '"batched" or "incremental"')
    return _krylov("gmres", A, b, x0, tol, atol, maxiter, M, restart), None


class OptimizeResults(NamedTuple):
    """What minimize() found."""

    x: Any
    success: Array
    status: Array  # 0 success, 1 after maxiter, 3 no step along the last direction makes it less
    fun: Array
    jac: Any
    hess_inv: Array | None  # of BFGS alone
    nfev: Array
    njev: Array
    nit: Array


_LBFGS = ("l-bfgs-experimental-do-not-rely-on-this", "l-bfgs", "l-bfgs-b")
# Options, and the limits on time that are not there, as they stand for none.
_OPTIONS = {
    False: {"maxiter": None, "gtol": 1e-5, "line_search_maxiter": 20, "norm": math.inf},
    True: {"maxiter": None, "gtol": 1e-5, "maxls": 20, "maxcor": 10},
}


def minimize(
    fun: Callable, x0: Any, args: tuple = (), *, method: str = "BFGS", tol: float | None = None, options: dict | None = None
) -> OptimizeResults:
    """Finds a local minimum of fun(x, *args), a scalar of a tree of floating arrays, beginning at x0. method is "BFGS" or
    "L-BFGS"; options are maxiter, gtol and line_search_maxiter (L-BFGS: maxls, maxcor). tol stands for gtol."""
    lbfgs = method.lower() in _LBFGS
    if not lbfgs and method.lower() != "bfgs":
        raise _no_option("minimize", f'method "{method}"', '"BFGS" or "L-BFGS"')
    known = _OPTIONS[lbfgs]
    given = known | ({} if tol is None else {"gtol": tol}) | (options or {})
    for name in given.keys() - known.keys():
        raise _no_option("minimize", f'option "{name}" of {method}', ", ".join(known))
    if given.get("norm", math.inf) != math.inf:
        raise _no_option("minimize", f"norm {given['norm']}", "inf, the largest element of the gradient")
    leaves, treedef = tree_flatten(x0)
    n = len(leaves)
    kept = _Kept(lambda x: fun(x, *args), tree_flatten((x0,))[1])

    def scalar(inner: list) -> list:
        out = kept(inner)
        if kept.result.spec != ("leaf",):
            raise TypeError(_neap._message("minimize", f"the function returns {kept.result!r}", "one scalar"))
        return out

    steps = given["maxls"] if lbfgs else given["line_search_maxiter"]
    out = _neap._minimize(scalar, leaves, lbfgs, given["gtol"], given["maxiter"], steps, given.get("maxcor", 10))
    value, hess_inv, success, status, nit, nfev = out[2 * n :]
    x, jac = tree_unflatten(treedef, out[:n]), tree_unflatten(treedef, out[n : 2 * n])
    return OptimizeResults(x, success, status, value, jac, None if lbfgs else hess_inv, nfev, nfev, nit)


def odeint(
    func: Callable, y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8, mxstep: float = math.inf,
    hmax: float = math.inf,
) -> Any:  # fmt: skip
    """Solves dy/dt = func(y, t, *args), y(t[0]) = y0, and returns y at the ascending times t: a tree like y0 whose arrays
    have a first axis of times. The method is Dormand and Prince's of order 5(4) with steps of adapted length; reverse mode
    solves the adjoint equation backwards."""
    leaves, treedef = tree_flatten(y0)

    def derivative(inner: list) -> list:
        out, got = tree_flatten(func(tree_unflatten(treedef, inner[:-1]), inner[-1], *args))
        if got != treedef:
            raise _wrong("odeint", f"func gives {got!r}", f"{treedef!r}, as y0")
        return out

    most = None if math.isinf(mxstep) else int(mxstep)
    out = _neap._odeint(derivative, leaves, t, rtol, atol, most, None if math.isinf(hmax) else hmax)
    return tree_unflatten(treedef, out)
