"""Loops and branches inside a program: their bodies are traced once, and what runs is decided by values on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _neap
from ._transforms import _Kept, vmap
from ._tree import PyTreeDef, tree_flatten, tree_unflatten


def _same_structure(op: str, expected: PyTreeDef, got: PyTreeDef, what: str) -> None:
    if expected != got:
        raise _neap.UserError(_neap._message(op, f"{what} {got!r}", f"{expected!r}"))


def scan(
    f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: int | bool = 1
) -> tuple:
    """Calls f(carry, x) -> (next carry, y) for each slice x of xs along axis 0, in order (reverse: from the last). Returns
    (last carry, the ys stacked along axis 0)."""
    return _scan("scan", f, init, xs, length, reverse, unroll)


def _scan(op: str, f: Callable, init: Any, xs: Any, length: int | None, reverse: bool = False, unroll: int | bool = 1) -> tuple:
    carry, carry_def = tree_flatten(init)
    slices, xs_def = tree_flatten(xs)
    n = len(carry)
    result: list[PyTreeDef] = []

    def body(leaves: list) -> list:
        out = f(tree_unflatten(carry_def, leaves[:n]), tree_unflatten(xs_def, leaves[n:]))
        if not isinstance(out, tuple | list) or len(out) != 2:
            raise TypeError(f"{op}: the body returns a {type(out).__name__}; expected (carry, y)")
        new, new_def = tree_flatten(out[0])
        _same_structure(op, carry_def, new_def, "the body returns a carry of the structure")
        ys, ys_def = tree_flatten(out[1])
        result[:] = [ys_def]
        return new + ys

    if unroll is True:
        unroll = length if length is not None else _neap._as_array(slices[0]).shape[0]
    last, stacked = _neap._scan(op, body, carry, slices, length, reverse, int(unroll) or 1)
    return tree_unflatten(carry_def, last), tree_unflatten(result[0], stacked)


def while_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    """Computes val = body_fun(val) while cond_fun(val), a bool scalar, is true."""
    return _while("while_loop", 0, cond_fun, body_fun, init_val)


def _while(op: str, counters: int, cond_fun: Callable, body_fun: Callable, init: Any) -> Any:
    leaves, treedef = tree_flatten(init)
    test, step = _Kept(cond_fun, treedef), _Kept(body_fun, treedef)
    test.treedef = step.treedef = tree_flatten((init,))[1]

    def body(inner: list) -> list:
        out = step(inner)
        _same_structure(op, treedef, step.result, "the body returns a value of the structure")
        return out

    return tree_unflatten(treedef, _neap._while(op, counters, test, body, leaves))


def fori_loop(lower: Any, upper: Any, body_fun: Callable, init_val: Any, *, unroll: int | bool | None = None) -> Any:
    """Computes val = body_fun(i, val) for i = lower, ..., upper - 1. With bounds that are numbers of Python it is a scan."""
    if isinstance(lower, int) and isinstance(upper, int):
        step = lambda val, i: (body_fun(i, val), None)  # noqa: E731
        return _scan("fori_loop", step, init_val, _neap._counters(lower, upper), None, unroll=unroll or 1)[0]
    first, last = _neap._bounds(lower, upper)
    body = lambda state: (state[0] + 1, body_fun(state[0], state[1]))  # noqa: E731
    return _while("fori_loop", 1, lambda state: state[0] < last, body, (first, init_val))[1]


def cond(pred: Any, true_fun: Callable, false_fun: Callable, *operands: Any) -> Any:
    """Computes true_fun(*operands) where pred is true, else false_fun(*operands); one of them runs."""
    leaves, treedef = tree_flatten(operands)
    yes, no = _Kept(true_fun, treedef), _Kept(false_fun, treedef)
    out = _neap._cond(pred, yes, no, leaves)
    _same_structure("cond", yes.result, no.result, "false_fun returns the structure")
    return tree_unflatten(yes.result, out)


def switch(index: Any, branches: Sequence[Callable], *operands: Any) -> Any:
    """Computes branches[index](*operands); below 0 the first branch is taken, beyond the last the last."""
    leaves, treedef = tree_flatten(operands)
    kept = [_Kept(branch, treedef) for branch in branches]
    out = _neap._switch(index, kept, leaves)
    for other in kept[1:]:
        _same_structure("switch", kept[0].result, other.result, "a branch returns the structure")
    return tree_unflatten(kept[0].result, out)


def map(f: Callable, xs: Any, *, batch_size: int | None = None) -> Any:
    """Returns f of each slice of xs along axis 0, stacked: vmap as a loop, batch_size slices at a time."""
    leaves, treedef = tree_flatten(xs)
    _neap._check_slices(leaves)
    loop = lambda g, values: _scan("map", lambda c, x: (c, g(x)), None, values, None)[1]  # noqa: E731
    if batch_size is None:
        return loop(f, xs)
    whole, rest = _neap._batches(leaves, batch_size)
    mapped = vmap(f)
    if not whole:
        return mapped(xs)
    stacked, result = tree_flatten(loop(mapped, tree_unflatten(treedef, whole)))
    left = tree_flatten(mapped(tree_unflatten(treedef, rest)))[0] if rest else []
    return tree_unflatten(result, _neap._joined_batches(stacked, left))


def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Returns running joins along an axis: the first slice, fn of the first two, ... fn is associative and maps over whole
    slices. Joins are made pairwise, in about 2 log2(n) steps."""
    leaves, treedef = tree_flatten(elems)
    n = len(leaves)

    def join(both: list) -> list:
        out, got = tree_flatten(fn(tree_unflatten(treedef, both[:n]), tree_unflatten(treedef, both[n:])))
        _same_structure("associative_scan", treedef, got, "fn returns the structure")
        return out

    return tree_unflatten(treedef, _neap._associative_scan(join, leaves, reverse, axis))
