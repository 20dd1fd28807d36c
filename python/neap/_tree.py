"""Pytrees: None, tuples, lists, dicts, named tuples, dataclasses and registered classes, taken apart and put together.

A structure (PyTreeDef) is a value: it can be compared and is a key of jit's cache. What is none of these is a leaf.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from . import _neap
from ._neap import Array, UserError

_LEAF = ("leaf",)
_NONE = ("none",)


class PyTreeDef:
    """The structure of a tree: everything but its leaves."""

    __slots__ = ("_hash", "num_leaves", "spec")

    def __init__(self, spec: tuple, num_leaves: int):
        self.spec = spec
        self.num_leaves = num_leaves
        self._hash = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PyTreeDef) and (self.spec is other.spec or self.spec == other.spec)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.spec)
        return self._hash

    def unflatten(self, leaves: Iterable) -> Any:
        """Returns the tree with these leaves."""
        return tree_unflatten(self, leaves)

    def children(self) -> list[PyTreeDef]:
        """Returns the structures of the root's children."""
        return [PyTreeDef(child, _count(child)) for child in self.spec[2]] if len(self.spec) > 1 else []

    def __repr__(self) -> str:
        return f"PyTreeDef({_write(self.spec)})"


# A registered class: its flatten gives (children, data beside them), its unflatten takes (data, children).
_registry: dict[type, tuple[Callable, Callable]] = {}


def register_pytree_node(nodetype: type, flatten_func: Callable, unflatten_func: Callable) -> None:
    """Makes a class a node: flatten_func(x) -> (children, aux), unflatten_func(aux, children) -> x. aux has a hash."""
    if nodetype in _registry:
        raise ValueError(f"register_pytree_node: {nodetype.__name__} is registered already")
    _registry[nodetype] = (flatten_func, unflatten_func)


def register_pytree_node_class(cls: type) -> type:
    """Makes a class with tree_flatten() and tree_unflatten(aux, children) a node."""
    register_pytree_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)
    return cls


def register_dataclass(nodetype: type, data_fields: Iterable[str], meta_fields: Iterable[str] = (), drop_fields=()) -> type:
    """Says which fields of a dataclass are subtrees (data) and which are static (meta). Dataclasses that are not registered
    are nodes too, all of their fields subtrees, but for those with metadata={"static": True}."""
    del drop_fields
    _fields[nodetype] = (tuple(data_fields), tuple(meta_fields))
    return nodetype


_fields: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}


def _fields_of(cls: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    known = _fields.get(cls)
    if known is None:
        all_fields = dataclasses.fields(cls)
        static = tuple(f.name for f in all_fields if f.metadata.get("static"))
        known = _fields[cls] = (tuple(f.name for f in all_fields if f.name not in static), static)
    return known


def _sorted_keys(d: dict) -> list:
    try:
        return sorted(d)
    except TypeError:
        raise UserError("pytree: the keys of a dict cannot be sorted; keys are all of one type") from None


def _children(x: Any, cls: type) -> tuple[Iterable, Any] | None:
    """Returns (children, data beside them) of a node other than None, tuple, list and dict; None of a leaf."""
    if cls in _registry:
        return _registry[cls][0](x)
    if cls is OrderedDict:
        return list(x.values()), tuple(x)
    if cls is defaultdict:
        keys = _sorted_keys(x)
        return [x[k] for k in keys], (x.default_factory, tuple(keys))
    if isinstance(x, tuple) and hasattr(cls, "_fields"):
        return x, None
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        data, meta = _fields_of(cls)
        return [getattr(x, name) for name in data], tuple(getattr(x, name) for name in meta)
    return None


def _count(spec: tuple) -> int:
    if len(spec) == 1:
        return 1 if spec is _LEAF else 0
    return sum(map(_count, spec[2]))


def _write(spec: tuple) -> str:
    if len(spec) == 1:
        return "*" if spec is _LEAF else "None"
    cls, data, children = spec
    inner = [_write(child) for child in children]
    if cls is tuple:
        return "(" + ", ".join(inner) + ("," if len(inner) == 1 else "") + ")"
    if cls is list:
        return "[" + ", ".join(inner) + "]"
    if cls is dict:
        return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(data, inner, strict=True)) + "}"
    return f"{cls.__name__}({', '.join(inner)})"


def _make(cls: type, data: Any, values: list) -> Any:
    """Makes a node of _children() again."""
    if cls in _registry:
        return _registry[cls][1](data, values)
    if cls is OrderedDict:
        return OrderedDict(zip(data, values, strict=True))
    if cls is defaultdict:
        return defaultdict(data[0], zip(data[1], values, strict=True))
    if hasattr(cls, "_fields"):
        return cls(*values)
    return _make_dataclass(cls, data, values)


def _make_dataclass(cls: type, meta: tuple, values: list) -> Any:
    """Makes one without calling __init__ or __post_init__, which may look at values that are not there under a trace."""
    data_names, meta_names = _fields_of(cls)
    made = object.__new__(cls)
    for name, value in zip(data_names, values, strict=True):
        object.__setattr__(made, name, value)
    for name, value in zip(meta_names, meta, strict=True):
        object.__setattr__(made, name, value)
    return made


# The containers that most trees are made of are taken apart and put together by C++, with these for all others.
_neap._set_tree(_LEAF, _NONE, _children, _make, _sorted_keys, Array)


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, PyTreeDef]:
    """Returns the leaves of a tree, and its structure."""
    leaves: list = []
    spec = _neap._flatten(tree, leaves, is_leaf)
    return leaves, PyTreeDef(spec, len(leaves))


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable) -> Any:
    """Returns the tree of this structure with these leaves."""
    given = leaves if type(leaves) is list else list(leaves)
    if len(given) != treedef.num_leaves:
        raise ValueError(f"tree_unflatten: {len(given)} leaves for a structure of {treedef.num_leaves}")
    return _neap._unflatten(treedef.spec, given)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """Returns the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """Returns the structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable, tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Calls f on corresponding leaves of trees; the others may have subtrees where the first has leaves."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    columns = [leaves] + [flatten_up_to(treedef, other) for other in rest]
    return tree_unflatten(treedef, [f(*row) for row in zip(*columns, strict=True)])


def tree_reduce(f: Callable, tree: Any, *initial: Any) -> Any:
    """Joins the leaves of a tree by f, from the first on."""
    import functools

    return functools.reduce(f, tree_leaves(tree), *initial)


def tree_all(tree: Any) -> bool:
    """Returns whether all leaves are true."""
    return all(tree_leaves(tree))


def flatten_up_to(treedef: PyTreeDef, tree: Any) -> list:
    """Returns what a tree has in the places of a structure's leaves: leaves or subtrees."""
    found: list = []

    def walk(spec: tuple, x: Any) -> None:
        if spec is _LEAF:
            found.append(x)
            return
        if spec is _NONE:
            if x is not None:
                raise ValueError(f"pytree: a tree has {type(x).__name__} where the first has None")
            return
        cls, data, children = spec
        if type(x) is not cls:
            raise ValueError(f"pytree: a tree has {type(x).__name__} where the first has {cls.__name__}")
        if cls is tuple or cls is list:
            parts, other = x, None
        elif cls is dict:
            keys = tuple(_sorted_keys(x))
            parts, other = [x[k] for k in keys], keys
        else:
            parts, other = _children(x, cls)
        parts = list(parts)
        if other != data or len(parts) != len(children):
            got, expected = f"{len(parts)} children, {other}", f"{len(children)}, {data}"
            raise ValueError(f"pytree: {cls.__name__}s of different structure: {got}; the first has {expected}")
        for child, part in zip(children, parts, strict=True):
            walk(child, part)

    walk(treedef.spec, tree)
    return found


def broadcast_prefix(prefix: Any, tree: Any) -> list:
    """Returns, for each leaf of a tree, what stands above it in a prefix of it. None in a prefix stands for itself."""
    result: list = []

    def walk(p: Any, x: Any) -> None:
        if p is None or isinstance(p, int):
            result.extend([p] * len(tree_leaves(x)))
            return
        treedef = tree_structure(p, is_leaf=lambda y: y is None)
        leaves = tree_leaves(p, is_leaf=lambda y: y is None)
        for leaf, part in zip(leaves, flatten_up_to(treedef, x), strict=True):
            walk(leaf, part)

    walk(prefix, tree)
    return result
