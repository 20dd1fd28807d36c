"""Function transforms: grad, vmap and their kin. Each takes a function on trees and gives one; they compose with each other
and with jit in any order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _neap
from ._tree import PyTreeDef, broadcast_prefix, flatten_up_to, tree_flatten, tree_leaves, tree_unflatten


def _wraps(fun: Callable, name: str) -> Callable:
    """Gives a transformed function the name of the function, where it has one."""

    def decorate(made: Callable) -> Callable:
        functools.update_wrapper(made, fun)
        if hasattr(fun, "__name__"):
            made.__name__ = f"{name}_{fun.__name__}"
        return made

    return decorate


class _Kept:
    """A function of trees as one of leaves, which keeps the structure of what it returned last."""

    def __init__(self, fun: Callable, treedef: PyTreeDef):
        self.fun, self.treedef = fun, treedef
        self.result: PyTreeDef | None = None

    def __call__(self, leaves: list) -> list:
        outputs, self.result = tree_flatten(self.fun(*tree_unflatten(self.treedef, leaves)))
        return outputs


def _split_arguments(name: str, fun: Callable, argnums: int | Sequence[int], args: tuple, kwargs: dict):
    """Returns (a function of the arguments that argnums names, those arguments)."""
    wanted = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    places = [i + len(args) if i < 0 else i for i in wanted]
    for i, place in zip(wanted, places, strict=True):
        if not 0 <= place < len(args):
            raise TypeError(f"{name}: argnums names argument {i}, and the call has {len(args)} positional arguments")

    def partial(*chosen: Any) -> Any:
        whole = list(args)
        for place, value in zip(places, chosen, strict=True):
            whole[place] = value
        return fun(*whole, **kwargs)

    return partial, tuple(args[place] for place in places)


def value_and_grad(
    fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable:
    """Returns a function that gives (fun's value, its gradient in the arguments that argnums names). fun returns one
    floating scalar, or with has_aux (scalar, anything)."""

    @_wraps(fun, "value_and_grad")
    def value_and_grad_of(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = _split_arguments("grad", fun, argnums, args, kwargs)
        leaves, treedef = tree_flatten(chosen)
        if has_aux:
            value, gradients = _grad_with_aux(partial, leaves, treedef, holomorphic)
        else:
            out = _neap._grad(_scalar_leaf(_Kept(partial, treedef)), leaves, True, holomorphic)
            value, gradients = out[0], out[1:]
        whole = tree_unflatten(treedef, gradients)
        return value, whole[0] if isinstance(argnums, int) else whole

    return value_and_grad_of


def _scalar_leaf(kept: _Kept) -> Callable:
    def scalar(leaves: list) -> list:
        outputs = kept(leaves)
        if kept.result.spec != ("leaf",):
            raise TypeError(f"grad: the function returns {kept.result!r}; expected one scalar (has_aux=True takes (scalar, aux))")
        return outputs

    return scalar


def _grad_with_aux(fun: Callable, leaves: list, treedef: PyTreeDef, holomorphic: bool) -> tuple:
    kept = _Kept(fun, treedef)
    values, pullback = _neap._vjp(kept, leaves)
    if kept.result.spec[0] is not tuple or len(kept.result.spec[2]) != 2 or kept.result.children()[0].spec != ("leaf",):
        raise TypeError(f"grad: with has_aux the function returns {kept.result!r}; expected (scalar, aux)")
    value = values[0]
    if value.shape != () or value.dtype.kind != ("c" if holomorphic else "f"):
        raise _neap.UserError(f"grad: the function returns {value.dtype}{list(value.shape)}; expected a floating scalar")
    cotangents = [_neap.ones_like(value)] + [_neap.zeros_like(v) for v in values[1:]]
    return tree_unflatten(kept.result, values), pullback(cotangents)


def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False) -> Callable:
    """Returns the gradient of fun in the arguments that argnums names; with has_aux (gradient, aux)."""
    both = value_and_grad(fun, argnums, has_aux, holomorphic)

    @_wraps(fun, "grad")
    def grad_of(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_of


def jvp(fun: Callable, primals: Sequence, tangents: Sequence, has_aux: bool = False) -> tuple:
    """Returns (fun(*primals), its derivative in the direction of the tangents); with has_aux also aux."""
    if has_aux:
        raise NotImplementedError("jvp: has_aux; return aux as part of the result")
    leaves, treedef = tree_flatten(tuple(primals))
    kept = _Kept(fun, treedef)
    out = _neap._jvp(kept, leaves, flatten_up_to(treedef, tuple(tangents)))
    half = len(out) // 2
    return tree_unflatten(kept.result, out[:half]), tree_unflatten(kept.result, out[half:])


def vjp(fun: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """Returns (fun(*primals), pullback): pullback(cotangent) is a tuple of cotangents like the primals. With has_aux fun
    returns (result, aux), and vjp (result, pullback, aux)."""
    leaves, treedef = tree_flatten(primals)
    kept = _Kept(fun, treedef)
    values, linear = _neap._vjp(kept, leaves)
    if not has_aux:
        result = kept.result

        def pullback(cotangent: Any) -> tuple:
            return tree_unflatten(treedef, linear(flatten_up_to(result, cotangent)))

        return tree_unflatten(result, values), pullback
    first, _ = kept.result.children()
    rest = values[first.num_leaves :]

    def pullback_of_first(cotangent: Any) -> tuple:
        zeros = [_neap.zeros_like(v) for v in rest]
        return tree_unflatten(treedef, linear(flatten_up_to(first, cotangent) + zeros))

    out, aux = tree_unflatten(kept.result, values)
    return out, pullback_of_first, aux


def linearize(fun: Callable, *primals: Any) -> tuple:
    """Returns (fun(*primals), linear): linear(*tangents) is what jvp gives at these primals."""
    leaves, treedef = tree_flatten(primals)
    kept = _Kept(fun, treedef)
    values, linear = _neap._linearize(kept, leaves)
    result = kept.result

    def map_of(*tangents: Any) -> Any:
        return tree_unflatten(result, linear(flatten_up_to(treedef, tangents)))

    return tree_unflatten(result, values), map_of


def vmap(fun: Callable, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None) -> Callable:
    """Returns fun mapped over an axis of its arguments. in_axes is an axis, None (every call gets the argument whole), or a
    tuple with one for each argument, which may be trees of them; out_axes likewise for the results."""

    @_wraps(fun, "vmap")
    def vmap_of(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = tree_flatten((args, kwargs))
        if isinstance(in_axes, list):
            raise TypeError("vmap: in_axes is a list; expected an int, None or a tuple")
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(f"vmap: in_axes has {len(in_axes)} entries, and the call {len(args)} positional arguments")
        axes = broadcast_prefix(in_axes, args) + [0] * len(tree_leaves(kwargs))
        result: list[PyTreeDef] = []

        def on_leaves(inner: list) -> list:
            inner_args, inner_kwargs = tree_unflatten(treedef, inner)
            outputs, structure = tree_flatten(fun(*inner_args, **inner_kwargs))
            result[:] = [structure]
            return outputs

        if axis_size is not None and all(axis is None for axis in axes):
            leaves, axes = [*leaves, _neap.zeros((axis_size,))], [*axes, 0]
            mapped = _neap._vmap(lambda inner: on_leaves(inner[:-1]), leaves, axes)
        else:
            mapped = _neap._vmap(on_leaves, leaves, axes)
        out = tree_unflatten(result[0], mapped)
        if isinstance(out_axes, int) and out_axes == 0:
            return out
        places = broadcast_prefix(out_axes, out)
        moved = [y[0] if a is None else _neap.moveaxis(y, 0, a) for y, a in zip(mapped, places, strict=True)]
        return tree_unflatten(result[0], moved)

    return vmap_of


def _jacobian(name: str, fun: Callable, argnums: int | Sequence[int], forward: bool, holomorphic: bool) -> Callable:
    @_wraps(fun, name)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = _split_arguments(name, fun, argnums, args, kwargs)
        leaves, treedef = tree_flatten(chosen)
        kept = _Kept(partial, treedef)
        out = _neap._jacobian(kept, leaves, forward, holomorphic)
        columns = len(leaves)
        rows = []
        for i in range(kept.result.num_leaves):
            row = tree_unflatten(treedef, out[i * columns : (i + 1) * columns])
            rows.append(row[0] if isinstance(argnums, int) else row)
        return tree_unflatten(kept.result, rows)

    return jacobian_of


def jacfwd(fun: Callable, argnums: int | Sequence[int] = 0, holomorphic: bool = False) -> Callable:
    """Returns the derivatives of fun by forward passes: a tree like the result, of trees like the argument; arrays have
    the shape of the result, then of the argument."""
    return _jacobian("jacfwd", fun, argnums, True, holomorphic)


def jacrev(fun: Callable, argnums: int | Sequence[int] = 0, holomorphic: bool = False) -> Callable:
    """Returns the same by backward passes."""
    return _jacobian("jacrev", fun, argnums, False, holomorphic)


def hessian(fun: Callable, argnums: int | Sequence[int] = 0, holomorphic: bool = False) -> Callable:
    """Returns the second derivatives of fun: jacfwd of jacrev."""
    return jacfwd(jacrev(fun, argnums, holomorphic), argnums, holomorphic)


class checkpoint_policies:
    """What checkpoint() keeps of a function for its backward pass."""

    nothing_saveable = _neap._policy("nothing")
    everything_saveable = _neap._policy("everything")
    dots_saveable = _neap._policy("dots")

    @staticmethod
    def save_only_these_names(*names: str) -> str:
        """Keeps what checkpoint_name() gave one of these names."""
        return _neap._save_only_these_names(list(names))


def checkpoint(fun: Callable | None = None, *, policy: str | None = None) -> Callable:
    """Returns fun, whose backward pass keeps only its arguments and what the policy says, and computes the rest again."""
    if fun is None:
        return functools.partial(checkpoint, policy=policy)

    @_wraps(fun, "checkpoint")
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        with _neap._CheckpointScope(policy or checkpoint_policies.nothing_saveable):
            return fun(*args, **kwargs)

    return checkpointed


def make_graph(fun: Callable) -> Callable[..., str]:
    """Returns a function that gives the text of fun's graph for its arguments, as jax.make_jaxpr does."""

    def text_of(*args: Any) -> str:
        leaves, treedef = tree_flatten(args)
        return _neap._trace_text(_Kept(fun, treedef), leaves)

    return text_of


def eval_shape(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """Returns the result of fun as specs: shapes and dtypes, and nothing runs."""
    leaves, treedef = tree_flatten((args, kwargs))
    found: list = []

    def on_leaves(inner: list) -> list:
        inner_args, inner_kwargs = tree_unflatten(treedef, inner)
        outputs, structure = tree_flatten(fun(*inner_args, **inner_kwargs))
        arrays = [_neap._as_array(y) for y in outputs]
        found.append(tree_unflatten(structure, [_neap.spec(y.shape, y.dtype) for y in arrays]))
        return arrays

    _neap._trace_text(on_leaves, leaves)
    return found[-1]
