"""What the Python array API standard asks for beside JAX's names (https://data-apis.org/array-api/2025.12); `neap` is its namespace."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _neap
from ._dtypes import _KINDS
from ._neap import Array, Device, dtype

__array_api_version__ = "2025.12"

_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip


class ArrayNamespaceInfo:
    """What a library tells of itself; __array_namespace_info__() gives it."""

    def capabilities(self) -> dict[str, Any]:
        """Which parts of the standard there are: outside a trace also those whose shapes depend on elements."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> Device:
        """In whose memory arrays are made."""
        return _neap.zeros(()).device

    def devices(self) -> tuple[Device, ...]:
        """The devices with a memory of their own, in which arrays can lie."""
        return tuple(_neap._memories())

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtype]:
        """The dtypes of what is made of Python's numbers, and of indices."""
        return {
            "real floating": _neap.float32, "complex floating": _neap.complex64, "integral": _neap.int32,
            "indexing": _neap.int32,
        }  # fmt: skip

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, dtype]:
        """The dtypes of the standard, or those of kinds such as "integral", by name."""
        kinds = (kind,) if isinstance(kind, str) else kind
        letters = None if kinds is None else "".join(_letters(one) for one in kinds)
        return {n: dtype(n) for n in _DTYPES if letters is None or dtype(n).kind in letters}


def _letters(kind: str) -> str:
    if kind not in _KINDS:
        raise _neap.OptionError(_neap._message("dtypes", f'kind "{kind}"', ", ".join(f'"{k}"' for k in _KINDS)))
    return _KINDS[kind]


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What the standard asks a library about itself: devices, dtypes, capabilities."""
    return ArrayNamespaceInfo()


class UniqueAllResult(NamedTuple):
    """Distinct elements, where each is first, which of them each element is, and how often they occur."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """Distinct elements, and how often they occur."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """Distinct elements, and which of them each element is."""

    values: Array
    inverse_indices: Array


def _unique(op: str, x: Any, equal_nan: bool = False) -> UniqueAllResult:
    x = _neap._as_array(x)
    if not x.is_concrete:
        raise _neap.TracerError(
            _neap._message(op, "a traced array: the size of the result is not known yet", "unique(x, size=...)")
        )
    flat = _neap.ravel(x)
    if flat.size == 0:
        none = _neap.zeros(0, _neap.int32)
        return UniqueAllResult(flat, none, none.reshape(x.shape), none)
    if flat.dtype.kind == "c":
        order = _neap.lexsort((flat.imag, flat.real))
    else:
        order = _neap.argsort(flat)
    ordered = flat[order]
    fresh = ordered[1:] != ordered[:-1]
    if equal_nan and flat.dtype.kind in "fc":
        fresh = fresh & ~(_neap.isnan(ordered[1:]) & _neap.isnan(ordered[:-1]))
    first = _neap.concatenate((_neap.ones(1, _neap.bool_), fresh))
    starts = _neap.nonzero(first)[0]
    group = _neap.cumsum(first, dtype=_neap.int32) - 1
    inverse = _neap.zeros(flat.shape, _neap.int32).at[order].set(group)
    ends = _neap.concatenate((starts[1:], _neap.array([flat.size], dtype=starts.dtype)))
    return UniqueAllResult(ordered[starts], order[starts], inverse.reshape(x.shape), ends - starts)


def unique_all(x: Any, /) -> UniqueAllResult:
    """The distinct elements, sorted, and where and how often they occur; each NaN is one of its own. Not in a trace."""
    return _unique("unique_all", x)


def unique_counts(x: Any, /) -> UniqueCountsResult:
    """The distinct elements, sorted, and how often they occur. Not in a trace."""
    values, _, _, counts = _unique("unique_counts", x)
    return UniqueCountsResult(values, counts)


def unique_inverse(x: Any, /) -> UniqueInverseResult:
    """The distinct elements, sorted, and which of them each element is. Not in a trace."""
    values, _, inverse, _ = _unique("unique_inverse", x)
    return UniqueInverseResult(values, inverse)


def unique_values(x: Any, /) -> Array:
    """The distinct elements, sorted. Not in a trace."""
    return _unique("unique_values", x).values


def _cumulative(run: Any, neutral: int, x: Any, axis: int | None, dtype: Any, include_initial: bool) -> Array:
    x = _neap._as_array(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError("cumulative_sum, cumulative_prod: axis is needed where there are several")
        x, axis = _neap.atleast_1d(x), 0
    y = run(x, axis=axis, dtype=dtype)
    if include_initial:
        shape = list(x.shape)
        shape[axis] = 1
        y = _neap.concatenate((_neap.full(shape, neutral, y.dtype), y), axis=axis)
    return y


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Adds up from the first element to each; include_initial: from nothing, 0, on."""
    return _cumulative(_neap.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Multiplies from the first element to each; include_initial: from nothing, 1, on."""
    return _cumulative(_neap.cumprod, 1, x, axis, dtype, include_initial)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None) -> Array:
    """Multiplies vectors along an axis, those of x1 conjugated; other axes broadcast."""
    x1, x2 = _neap._as_array(x1), _neap._as_array(x2)
    a, b = _neap.moveaxis(x1, axis, -1), _neap.moveaxis(x2, axis, -1)
    if a.shape[-1] != b.shape[-1]:
        got, expected = f"{a.shape[-1]} and {b.shape[-1]} elements along axis {axis}", "as many"
        raise _neap.ShapeError(_neap._message("vecdot", got, expected))
    return _neap.matmul(_neap.conj(a)[..., None, :], b[..., :, None])[..., 0, 0]


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to."""
    shapes = tuple((s,) if isinstance(s, int) else tuple(s) for s in shapes)
    rank = max((len(s) for s in shapes), default=0)
    result = []
    for extents in zip(*((1,) * (rank - len(s)) + s for s in shapes)):
        others = {n for n in extents if n != 1}
        if len(others) > 1:
            raise _neap.ShapeError(_neap._message("broadcast_shapes", " and ".join(map(str, shapes)), "equal extents, or 1"))
        result.append(others.pop() if others else 1)
    return tuple(result)


def clip(arr: Any, min: Any = None, max: Any = None) -> Array:
    """min(max(x, low), high), in the dtype of all three."""
    return _neap.clip(arr, min, max)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """Subtracts each element from the next, n times over, with others before and behind the first."""
    a = _neap._as_array(a)
    parts = []
    for one in (prepend, a, append):
        if one is None:
            continue
        one = _neap._as_array(one) if not isinstance(one, (bool, int, float, complex)) else _neap._operand_as(one, a.dtype)
        if one.ndim == 0:
            shape = list(a.shape)
            shape[axis] = 1
            one = _neap.broadcast_to(one, tuple(shape))
        parts.append(one)
    return _neap.diff(_neap.concatenate(parts, axis=axis) if len(parts) > 1 else a, n, axis)


__all__ = [
    "broadcast_shapes", "clip", "cumulative_prod", "cumulative_sum", "diff", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "vecdot",
]  # fmt: skip
