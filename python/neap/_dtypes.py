"""What is asked about dtypes: limits, kinds, promotion."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _neap
from ._neap import Array, dtype

_KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip


class finfo:
    """The limits of a floating dtype; of a complex one those of its parts."""

    _BITS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}

    def __init__(self, of: Any):
        kind = of.dtype if isinstance(of, Array) else dtype(of)
        kind = {"complex64": _neap.float32, "complex128": _neap.float64}.get(kind.name, kind)
        if kind.kind != "f":
            raise _neap.DTypeError(f"finfo: {kind}; expected a floating dtype")
        mantissa, most = self._BITS[kind.name]
        self.dtype, self.bits = kind, kind.itemsize * 8
        self.eps = 2.0**-mantissa
        self.max = (2.0 - self.eps) * 2.0**most
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - most)
        self.smallest_subnormal = self.tiny * self.eps

    def __repr__(self) -> str:
        return f"finfo({self.dtype.name}: eps={self.eps:g}, max={self.max:g}, tiny={self.tiny:g})"


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, of: Any):
        kind = of.dtype if isinstance(of, Array) else dtype(of)
        if kind.kind not in "iu":
            raise _neap.DTypeError(f"iinfo: {kind}; expected an integer dtype")
        self.dtype, self.bits = kind, kind.itemsize * 8
        self.min = -(2 ** (self.bits - 1)) if kind.kind == "i" else 0
        self.max = 2 ** (self.bits - (kind.kind == "i")) - 1

    def __repr__(self) -> str:
        return f"iinfo({self.dtype.name}: {self.min} to {self.max})"


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, "integral", "real floating", ..., or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    of = _neap.dtype(dtype)
    return of.kind in _KINDS[kind] if isinstance(kind, str) and kind in _KINDS else of == _neap.dtype(kind)


class _Weak(NamedTuple):
    rank: int


def _operand_dtype(x: Any) -> Any:
    """A dtype, or how high a number of Python is, which has none of its own."""
    for rank, cls in enumerate((bool, int, float, complex)):
        if type(x) is cls:
            return _Weak(rank)
    return x.dtype if isinstance(x, Array) else dtype(getattr(x, "dtype", x))


def result_type(*of: Any) -> dtype:
    """The dtype in which an operation on these arrays, dtypes and numbers of Python computes."""
    found = [_operand_dtype(x) for x in of]
    strong = [d for d in found if not isinstance(d, _Weak)]
    weak = max((d.rank for d in found if isinstance(d, _Weak)), default=-1)
    if not strong:
        if weak < 0:
            raise TypeError("result_type: no arguments")
        return (_neap.bool_, _neap.int32, _neap.float32, _neap.complex64)[weak]
    result = strong[0]
    for other in strong[1:]:
        result = _neap.promote_types(result, other)
    if weak < 0:
        return result
    return (_neap.zeros((), result) + (False, 0, 0.0, 0j)[weak]).dtype


def can_cast(source: Any, target: Any) -> bool:
    """Whether a promotion leads from one dtype to the other."""
    target = dtype(target)
    return _neap.promote_types(_operand_dtype(source), target) == target


def shape(a: Any) -> tuple[int, ...]:
    """The extents of an array."""
    return _neap._as_array(a).shape


def ndim(a: Any) -> int:
    """The number of axes."""
    return _neap._as_array(a).ndim


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the extent of an axis."""
    return _neap._as_array(a).size if axis is None else _neap._as_array(a).shape[axis]


def axis_of(op: str, x: Array, axis: int) -> int:
    """Returns an axis of the array, counted from its first."""
    if not -x.ndim <= axis < x.ndim:
        raise _neap.ShapeError(_neap._message(op, f"axis {axis} of {x.ndim} axes", f"{-x.ndim} to {x.ndim - 1}"))
    return axis % x.ndim
