"""jit: compiles a function once for each signature, and tells what its calls hold before they run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import _neap
from ._neap import Limits, Plan
from ._plan import Tradeoffs
from ._tree import PyTreeDef, tree_flatten, tree_unflatten

# A signature's structure and static values as a few bytes: what C++ keys its cache with.
_ids: dict[tuple, bytes] = {}


def _id_of(key: tuple) -> bytes:
    known = _ids.get(key)
    if known is None:
        known = _ids.setdefault(key, len(_ids).to_bytes(8, "little"))
    return known


def _as_tuple(x: Any) -> tuple:
    return () if x is None else (x,) if isinstance(x, (int, str)) else tuple(x)


def _budget(x: int | str | None) -> int | None:
    return _neap.parse_bytes(x) if isinstance(x, str) else x


class Saved(NamedTuple):
    """What save() wrote: the two files, what a call needs beside its arrays, and what the function does."""

    object: str
    header: str
    arena_bytes: int
    peak_bytes: int
    needs_runtime: bool
    plan: Plan


class Jitted:
    """What jit returns: it is called as the function is."""

    def __init__(self, fun: Callable, static_argnums, static_argnames, donate_argnums, donate_argnames, options: dict):
        functools.update_wrapper(self, fun)
        self._fun = fun
        names, positions = _parameters(fun)
        self._static_names = set(_as_tuple(static_argnames))
        self._static_nums = set(_as_tuple(static_argnums)) | {positions[n] for n in self._static_names if n in positions}
        self._static_names |= {names[i] for i in self._static_nums if 0 <= i < len(names)}
        self._donate_names = set(_as_tuple(donate_argnames))
        self._donate_nums = set(_as_tuple(donate_argnums)) | {positions[n] for n in self._donate_names if n in positions}
        self._donates = bool(self._donate_nums or self._donate_names)
        self._plain = not (self._static_nums or self._static_names or self._donates)
        self._state = _neap._JitState(donates=self._donates, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _neap._tracing_now():
            return self._fun(*args, **kwargs)
        run, leaves, donated, key = self._prepare(args, kwargs)
        outputs, treedef = self._state.call(run, leaves, donated, key)
        return treedef(outputs)

    def plan(self, *args: Any, **kwargs: Any) -> Plan:
        """Plans for arguments (specs or arrays) without allocating or running anything."""
        return self._state.plan(*self._prepare(args, kwargs))

    def tradeoff(self, *args: Any, **kwargs: Any) -> Tradeoffs:
        """Returns what budgets cost: the usual plan, then ever lower peaks, down to the lowest."""
        return Tradeoffs(self._state.tradeoff(*self._prepare(args, kwargs)))

    def compile(self, *args: Any, **kwargs: Any) -> Jitted:
        """Plans and compiles without running."""
        self._state.compile(*self._prepare(args, kwargs))
        return self

    def save(
        self, stem: str, *args: Any, target: str = "", cpu: str = "", arguments: Sequence[str] = (), results: Sequence[str] = ()
    ) -> Saved:
        """Compiles for these arguments (specs or arrays) and writes stem.o and stem.h, for programs of C without Neap. target
        is a triple such as "aarch64-linux-gnu", cpu LLVM's name of a processor; arguments and results name the arrays."""
        return Saved(*self._state.save(*self._prepare(args, {}), str(stem), target, cpu, list(arguments), list(results)))

    def last_plan(self) -> Plan:
        """Returns the plan of the latest call."""
        return self._state.last_plan()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _prepare(self, args: tuple, kwargs: dict) -> tuple:
        """Returns (the function on leaves, leaves, which are donated, the signature's key)."""
        if self._plain:
            leaves, treedef = tree_flatten((args, kwargs) if kwargs else args)
            _check_leaves(leaves)
            return _OnLeaves(self._fun, treedef, (), bool(kwargs)), leaves, None, _id_of((treedef, bool(kwargs)))
        static = tuple((i, a) for i, a in enumerate(args) if i in self._static_nums or i - len(args) in self._static_nums)
        static += tuple((n, kwargs[n]) for n in sorted(kwargs) if n in self._static_names)
        where = {i for i, _ in static}
        dynamic = tuple(None if i in where else a for i, a in enumerate(args))
        named = {n: a for n, a in kwargs.items() if n not in where}
        leaves, treedef = tree_flatten((dynamic, named))
        _check_leaves(leaves)
        try:
            key = _id_of((treedef, tuple((i, type(a), a) for i, a in static)))
        except TypeError:
            bad = next(a for _, a in static if getattr(type(a), "__hash__", None) is None or not _hashable(a))
            raise TypeError(f"jit: a static argument of type {type(bad).__name__} has no hash") from None
        return _OnLeaves(self._fun, treedef, static, True), leaves, self._donated(dynamic, named), key

    def _donated(self, args: tuple, kwargs: dict) -> list[int] | None:
        if not self._donates:
            return None
        donated: list[int] = []
        next_leaf = 0
        n = len(args)
        for i, a in enumerate(args):
            count = len(tree_flatten(a)[0])
            if i in self._donate_nums or i - n in self._donate_nums:
                donated += range(next_leaf, next_leaf + count)
            next_leaf += count
        for name in sorted(kwargs):
            count = len(tree_flatten(kwargs[name])[0])
            if name in self._donate_names:
                donated += range(next_leaf, next_leaf + count)
            next_leaf += count
        return donated


class _OnLeaves:
    """A function of trees as one of leaves. With its results it returns a function that puts them into trees."""

    __slots__ = ("fun", "static", "treedef", "with_kwargs")

    def __init__(self, fun: Callable, treedef: PyTreeDef, static: tuple, with_kwargs: bool):
        self.fun, self.treedef, self.static, self.with_kwargs = fun, treedef, static, with_kwargs

    def __call__(self, leaves: list) -> tuple[list, Callable]:
        args, kwargs = tree_unflatten(self.treedef, leaves) if self.with_kwargs else (tree_unflatten(self.treedef, leaves), {})
        if self.static:
            positions = dict(self.static)
            args = [positions.get(i, a) for i, a in enumerate(args)]
            kwargs |= {n: a for n, a in self.static if isinstance(n, str)}
        outputs, treedef = tree_flatten(self.fun(*args, **kwargs))
        _check_leaves(outputs, "returns")
        return outputs, functools.partial(_rebuild, treedef)


def _rebuild(treedef: PyTreeDef, leaves: list) -> Any:
    return leaves[0] if treedef.spec == ("leaf",) else tree_unflatten(treedef, leaves)


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _parameters(fun: Callable) -> tuple[list[str], dict[str, int]]:
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        return [], {}
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in signature.parameters.values() if p.kind in kinds]
    return names, {name: i for i, name in enumerate(names)}


_PLAIN = (_neap.Array, bool, int, float, complex)


def _check_leaves(leaves: Sequence, verb: str = "takes") -> None:
    for leaf in leaves:
        if not isinstance(leaf, _PLAIN) and not _neap._is_operand(leaf):
            hint = "; name it in static_argnames" if verb == "takes" else ""
            raise TypeError(f"jit: the function {verb} a {type(leaf).__name__}, which is no array and no tree of arrays{hint}")


def jit(
    fun: Callable | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    device: Any = None,
    memory_budget: int | str | None = None,
    pipeline: str = "planned",
    deterministic: bool = False,
    strategy: str | None = None,
    chunks: int | None = None,
    limits: Limits | None = None,
    name: str | None = None,
) -> Any:
    """Returns fun, compiled once for each signature: the structure, shapes and dtypes of its arguments.

    Numbers and arrays in the arguments are inputs of the program; static arguments are values of the signature, and have a
    hash. The call may take the memory of donated arguments, which cannot be used afterwards. memory_budget, in bytes or as
    "512MiB", is a contract: the plan fits it, or there is a BudgetError. pipeline is "planned", or "naive": what a framework
    without a planner does. strategy and chunks pin a choice of the planner. With limits, plan() and tradeoff() plan for them
    in place of those of the device, which need not be present, and a call is a UserError. Without fun it is a decorator.
    """
    if fun is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames, donate_argnums=donate_argnums,
            donate_argnames=donate_argnames, device=device, memory_budget=memory_budget, pipeline=pipeline,
            deterministic=deterministic, strategy=strategy, chunks=chunks, limits=limits, name=name,
        )  # fmt: skip
    if not callable(fun):
        raise TypeError(f"jit: a {type(fun).__name__} stands where a function is expected")
    if pipeline not in ("planned", "naive"):
        raise _neap.OptionError(f'jit: pipeline "{pipeline}"; expected "planned" or "naive"')
    options = {
        "device": device, "budget": _budget(memory_budget), "naive": pipeline == "naive", "deterministic": deterministic,
        "name": name if name is not None else getattr(fun, "__name__", "") or "", "strategy": strategy, "chunks": chunks,
        "limits": limits,
    }  # fmt: skip
    return Jitted(fun, static_argnums, static_argnames, donate_argnums, donate_argnames, options)
