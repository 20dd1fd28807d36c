"""Functions with derivatives of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _neap
from ._transforms import _Kept
from ._tree import flatten_up_to, tree_flatten, tree_leaves, tree_unflatten


def _nondiff(fun: Callable, nondiff_argnums: Sequence[int], args: tuple) -> tuple[Callable, tuple, tuple]:
    """Returns (fun of the other arguments, those, the arguments that have no derivative)."""
    if not nondiff_argnums:
        return fun, args, ()
    fixed = {i: args[i] for i in nondiff_argnums}
    others = tuple(a for i, a in enumerate(args) if i not in fixed)

    def partial(*rest: Any) -> Any:
        it = iter(rest)
        return fun(*[fixed[i] if i in fixed else next(it) for i in range(len(args))])

    return partial, others, tuple(fixed[i] for i in nondiff_argnums)


class custom_jvp:
    """Gives a function a derivative of its own: @f.defjvp takes rule(primals, tangents) -> (value, tangent), linear in the
    tangents. Reverse mode is its transpose."""

    def __init__(self, fun: Callable, nondiff_argnums: Sequence[int] = ()):
        functools.update_wrapper(self, fun)
        self._fun, self._nondiff, self._rule = fun, tuple(nondiff_argnums), None

    def defjvp(self, rule: Callable) -> Callable:
        """Sets the rule."""
        self._rule = rule
        return rule

    def defjvps(self, *rules: Callable | None) -> None:
        """Sets a rule for each argument: rule(tangent, value, *primals), or None where the derivative is zero."""

        def whole(primals: tuple, tangents: tuple) -> tuple:
            value = self._fun(*primals)
            parts = [r(t, value, *primals) for r, t in zip(rules, tangents, strict=True) if r is not None]
            total = functools.reduce(lambda a, b: a + b, parts) if parts else _neap.zeros_like(value)
            return value, total

        self._rule = whole

    def __call__(self, *args: Any) -> Any:
        if self._rule is None:
            raise _neap.UserError(f"custom_jvp: {getattr(self._fun, '__name__', 'the function')} has no rule; call defjvp")
        fun, args, fixed = _nondiff(self._fun, self._nondiff, args)
        leaves, treedef = tree_flatten(args)
        kept = _Kept(fun, treedef)

        def rule(both: list) -> list:
            n = len(leaves)
            primals, tangents = tree_unflatten(treedef, both[:n]), tree_unflatten(treedef, both[n:])
            value, tangent = self._rule(*fixed, primals, tangents)
            like = tree_flatten(value)[1]
            dtypes = [_neap._as_array(v).dtype for v in tree_leaves(value)]
            return [_neap._operand_as(t, d) for t, d in zip(flatten_up_to(like, tangent), dtypes, strict=True)]

        out = _neap._custom_jvp(kept, rule, leaves)
        return tree_unflatten(kept.result, out)


class custom_vjp:
    """Gives a function a reverse derivative of its own: defvjp(forward, backward), forward(*args) -> (value, residuals),
    backward(residuals, cotangent) -> a tuple like the arguments, None for zeros. It has no forward derivative."""

    def __init__(self, fun: Callable, nondiff_argnums: Sequence[int] = ()):
        functools.update_wrapper(self, fun)
        self._fun, self._nondiff = fun, tuple(nondiff_argnums)
        self._forward: Callable | None = None
        self._backward: Callable | None = None

    def defvjp(self, forward: Callable, backward: Callable) -> None:
        """Sets both."""
        self._forward, self._backward = forward, backward

    def __call__(self, *args: Any) -> Any:
        if self._forward is None or self._backward is None:
            raise _neap.UserError(f"custom_vjp: {getattr(self._fun, '__name__', 'the function')} has no rule; call defvjp")
        forward_fun, _, _ = _nondiff(self._forward, self._nondiff, args)
        fun, args, fixed = _nondiff(self._fun, self._nondiff, args)
        leaves, treedef = tree_flatten(args)
        kept = _Kept(fun, treedef)
        made: dict[str, Any] = {}

        def forward(inner: list) -> tuple[list, list]:
            value, residuals = forward_fun(*tree_unflatten(treedef, inner))
            outputs, made["value"] = tree_flatten(value)
            kept_leaves, made["residuals"] = tree_flatten(residuals)
            return outputs, kept_leaves

        def backward(residuals: list, cotangents: list) -> list:
            result = self._backward(
                *fixed, tree_unflatten(made["residuals"], residuals), tree_unflatten(made["value"], cotangents)
            )
            return _cotangents(treedef, leaves, result)

        out = _neap._custom_vjp(kept, forward, backward, leaves)
        return tree_unflatten(kept.result, out)


def _cotangents(treedef: Any, leaves: list, result: Any) -> list:
    """Returns the leaves of what backward gave: None in the place of an argument is zeros."""
    if not isinstance(result, tuple | list):
        raise TypeError(f"custom_vjp: backward returns a {type(result).__name__}; expected a tuple like the arguments")
    children = treedef.children()
    if len(result) != len(children):
        raise TypeError(f"custom_vjp: backward returns {len(result)} cotangents for {len(children)} arguments")
    flat, at = [], 0
    for child, part in zip(children, result, strict=True):
        mine = leaves[at : at + child.num_leaves]
        at += child.num_leaves
        flat += [_neap.zeros_like(x) for x in mine] if part is None else flatten_up_to(child, part)
    return [_neap.zeros_like(x) if c is None else c for x, c in zip(leaves, flat, strict=True)]
