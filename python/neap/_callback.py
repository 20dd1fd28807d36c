"""Functions of Python that compiled code calls: prints, callbacks and checks. They run as docs/debugging.md says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _neap
from ._dtypes import isdtype
from ._tree import tree_flatten, tree_unflatten


def _call(op: str, effect: bool, f: Callable, result: Any, args: tuple, kwargs: dict) -> Any:
    leaves, treedef = tree_flatten((args, kwargs))
    specs, result_def = tree_flatten(result)

    def on_leaves(inner: list) -> list:
        positional, named = tree_unflatten(treedef, inner)
        out, out_def = tree_flatten(f(*positional, **named))
        if specs and out_def != result_def:
            raise _neap.UserError(_neap._message(op, f"the function returns the structure {out_def!r}", f"{result_def!r}"))
        return out if specs else []

    return tree_unflatten(result_def, _neap._callback(op, on_leaves, leaves, specs, effect))


def callback(callback: Callable, *args: Any, ordered: bool = True, **kwargs: Any) -> None:
    """Calls callback(*args, **kwargs), with arrays whose elements are there, each time that compiled code comes by. What it
    returns is left. Calls are always in order."""
    del ordered
    _call("callback", True, lambda *a, **k: callback(*a, **k) and None, None, args, kwargs)


def pure_callback(callback: Callable, result_shape_dtypes: Any, *args: Any, vmap_method: str = "sequential", **kwargs: Any) -> Any:
    """Returns what callback(*args, **kwargs) returns, a tree of arrays like result_shape_dtypes, of which shapes and dtypes
    count. It is a function of its arguments alone: it may be called more than once or not at all, and under vmap it is called
    for each example."""
    if vmap_method not in ("sequential", "sequential_unrolled"):
        raise _neap.OptionError(_neap._message("pure_callback", f"vmap_method {vmap_method!r}", "'sequential'"))
    return _call("pure_callback", False, callback, result_shape_dtypes, args, kwargs)


def io_callback(callback: Callable, result_shape_dtypes: Any, *args: Any, ordered: bool = True, **kwargs: Any) -> Any:
    """Returns what callback(*args, **kwargs) returns, as pure_callback, where it does more than that: it is called each time
    that compiled code comes by, always in order."""
    del ordered
    return _call("io_callback", True, callback, result_shape_dtypes, args, kwargs)


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, _neap.Array) and x.ndim == 0 else x


def _checked_format(op: str, fmt: str, args: tuple, kwargs: dict) -> None:
    def zero(x: Any) -> Any:
        if not isinstance(x, _neap.Array) or x.ndim > 0:
            return str(x) if isinstance(x, _neap.Array) else x
        if isdtype(x.dtype, "bool"):
            return False
        return 0 if isdtype(x.dtype, "integral") else 0j if isdtype(x.dtype, "complex floating") else 0.0

    try:
        fmt.format(*map(zero, args), **{key: zero(x) for key, x in kwargs.items()})
    except (IndexError, KeyError, ValueError, TypeError) as error:
        raise _neap.UserError(_neap._message(op, f"{fmt!r}: {error}", "a format of its arguments")) from None


def _text(fmt: str, args: tuple, kwargs: dict) -> str:
    return fmt.format(*map(_number, args), **{key: _number(x) for key, x in kwargs.items()})


def debug_print(fmt: str, *args: Any, ordered: bool = True, **kwargs: Any) -> None:
    """Prints fmt.format(*args, **kwargs) each time that compiled code comes by: debug.print("loss {:.3f} in {i}", loss, i=i)."""
    del ordered
    _checked_format("print", fmt, args, kwargs)
    _call("print", True, lambda *a, **k: print(_text(fmt, a, k)), None, args, kwargs)


def check(condition: Any, fmt: str, *args: Any, **kwargs: Any) -> None:
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

    _call("check", True, look, None, (_neap.all(condition), args, kwargs), {})
