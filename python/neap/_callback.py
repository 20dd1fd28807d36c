"""Functions of Python that compiled code calls: prints, callbacks and checks. They run as docs/debugging.md says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _neap
from ._dtypes import isdtype
from ._tree import tree_flatten, tree_unflatten


def _is_static(x: Any) -> bool:
    if isinstance(x, (_neap.Array, bool, int, float, complex)):
        return False
    return not any(hasattr(x, name) for name in ("__array__", "__dlpack__", "__neap_array__"))


def _call(
    op: str,
    effect: bool,
    f: Callable,
    result: Any,
    args: tuple,
    kwargs: dict,
    is_static: Callable[[Any], bool] = _is_static,
    copies: bool = True,
) -> Any:
    leaves, treedef = tree_flatten((args, kwargs))
    specs, result_def = tree_flatten(result)
    # What is no array is handed through beside the graph.
    places = [i for i, leaf in enumerate(leaves) if not is_static(leaf)]
    arrays = [leaves[i] for i in places]
    for i in places:
        leaves[i] = None

    def on_leaves(inner: list) -> list:
        given = list(leaves)
        for i, leaf in zip(places, inner, strict=True):
            given[i] = leaf
        positional, named = tree_unflatten(treedef, given)
        returned = f(*positional, **named)
        if not specs:
            return []
        out, out_def = tree_flatten(returned)
        if out_def != result_def:
            raise _neap.UserError(_neap._message(op, f"the function returns the structure {out_def!r}", f"{result_def!r}"))
        return out

    return tree_unflatten(result_def, _neap._callback(op, on_leaves, arrays, specs, effect, copies))


def callback(callback: Callable, /, *args: Any, ordered: bool = True, **kwargs: Any) -> None:
    """Calls callback(*args, **kwargs), with arrays whose elements are there, each time that compiled code comes by. What is no
    array or number is handed through as it is. What it returns is left. Calls are always in order."""
    del ordered
    _call("callback", True, callback, None, args, kwargs)


def pure_callback(
    callback: Callable, result_shape_dtypes: Any, /, *args: Any, vmap_method: str = "sequential", **kwargs: Any
) -> Any:
    """Returns what callback(*args, **kwargs) returns, a tree of arrays like result_shape_dtypes, of which shapes and dtypes
    count. It is a function of its arguments alone: it may be called more than once or not at all, and under vmap it is called
    for each example, where an argument differs between examples."""
    if vmap_method not in ("sequential", "sequential_unrolled"):
        raise _neap.OptionError(_neap._message("pure_callback", f"vmap_method {vmap_method!r}", "'sequential'"))
    return _call("pure_callback", False, callback, result_shape_dtypes, args, kwargs)


def io_callback(callback: Callable, result_shape_dtypes: Any, /, *args: Any, ordered: bool = True, **kwargs: Any) -> Any:
    """Returns what callback(*args, **kwargs) returns, as pure_callback, where it does more than that: it is called each time
    that compiled code comes by, always in order."""
    del ordered
    return _call("io_callback", True, callback, result_shape_dtypes, args, kwargs)


def _is_text(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex)) or _is_static(x)


def _shortest(x: float, dtype: Any) -> float:
    """Returns the number of the fewest digits that is x in its dtype: 0.1 for what an f32 has of it."""
    for digits in range(1, 10):
        near = float(f"{x:.{digits}g}")
        if near == x or x != x or _neap.array(near, dtype=dtype).item() == x:
            return near
    return x


def _zero(dtype: Any) -> Any:
    if isdtype(dtype, "bool"):
        return False
    return 0 if isdtype(dtype, "integral") else 0j if isdtype(dtype, "complex floating") else 0.0


class _Shown:
    """An array in a format: with its elements, or (where a format is checked) all but those."""

    def __init__(self, x: _neap.Array, known: bool):
        self._x, self._known = x, known

    def __format__(self, spec: str) -> str:
        x = self._x
        if x.ndim > 0:
            return format(str(self), spec)
        number = x.item() if self._known else _zero(x.dtype)
        if "." not in spec and spec[-1:] not in tuple("eEfFgGn%"):
            if isdtype(x.dtype, "real floating") and x.itemsize < 8:
                number = _shortest(number, x.dtype)
            elif x.dtype == _neap.complex64:
                number = complex(_shortest(number.real, _neap.float32), _shortest(number.imag, _neap.float32))
        return format(number, spec)

    def __str__(self) -> str:
        return format(self, "") if self._x.ndim == 0 else str(self._x) if self._known else ""

    def __repr__(self) -> str:
        return repr(self._x) if self._known else ""

    def __getattr__(self, name: str) -> Any:
        return _shown(getattr(self._x, name), self._known)

    def __getitem__(self, key: Any) -> Any:
        return _shown(self._x[key], self._known)


def _shown(x: Any, known: bool) -> Any:
    if type(x) in (list, tuple):
        return type(x)(_shown(one, known) for one in x)
    if type(x) is dict:
        return {key: _shown(one, known) for key, one in x.items()}
    return _Shown(x, known) if isinstance(x, _neap.Array) else x


def _text(fmt: str, args: tuple, kwargs: dict, known: bool = True) -> str:
    return fmt.format(*_shown(args, known), **_shown(kwargs, known))


def _checked_format(op: str, fmt: str, args: tuple, kwargs: dict) -> None:
    try:
        _text(fmt, args, kwargs, known=False)
    except _neap.UserError:
        raise
    except Exception as error:
        raise _neap.UserError(_neap._message(op, f"{fmt!r}: {error}", "a format of its arguments")) from None


def debug_print(fmt: str, /, *args: Any, ordered: bool = True, **kwargs: Any) -> None:
    """Prints fmt.format(*args, **kwargs) each time that compiled code comes by: debug.print("loss {:.3f} in {i}", loss, i=i).
    What is no array is formatted as it is; arrays have their attributes and indices: {x.shape}, {x[0]}."""
    del ordered
    _checked_format("print", fmt, args, kwargs)
    _call("print", True, lambda *a, **k: print(_text(fmt, a, k)), None, args, kwargs, _is_text, copies=False)


def check(condition: Any, fmt: str, /, *args: Any, **kwargs: Any) -> None:
    """Raises CheckError from compiled code, with fmt.format(*args, **kwargs) and the line, where an element of the condition,
    a bool array, is false: check(x > 0, "x must be positive, but is {}", x)."""
    _checked_format("check", fmt, args, kwargs)
    mark = "\x00"
    message = _neap._message("check", mark, "")
    if not isinstance(condition, _neap.Array):
        condition = _neap._as_array(condition)
    if condition.dtype != _neap.bool_:
        raise _neap.DTypeError(_neap._message("check", f"a condition of {condition.dtype}", "a bool array"))

    def look(flag: Any, a: tuple, k: dict) -> None:
        if not flag.item():
            raise _neap.CheckError(message.replace(mark, _text(fmt, a, k)))

    _call("check", True, look, None, (_neap.all(condition), args, kwargs), {}, _is_text, copies=False)
