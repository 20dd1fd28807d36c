"""Types of arguments, for annotations."""

from __future__ import annotations

from typing import Any, TypeAlias

from ._neap import Array, dtype

ArrayLike: TypeAlias = Array | bool | int | float | complex | Any  # NumPy's arrays and numbers, too
DTypeLike: TypeAlias = dtype | type | str | Any

__all__ = ["Array", "ArrayLike", "DTypeLike"]
