"""Reductions of segments: jax.ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _neap
from ._neap import Array


def _segment_function(name: str, run: Callable, doc: str) -> Callable:
    def segment_of(
        data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
        unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
    ) -> Array:  # fmt: skip
        return run(data, segment_ids, num_segments)

    segment_of.__name__ = segment_of.__qualname__ = name
    segment_of.__doc__ = doc + " num_segments is the largest id and 1 unless given; inside a trace it is given."
    return segment_of


_ops = _neap.ops
segment_sum = _segment_function("segment_sum", _ops._segment_sum, "Adds up the slices of each segment.")
segment_prod = _segment_function("segment_prod", _ops._segment_prod, "Multiplies the slices of each segment.")
segment_max = _segment_function("segment_max", _ops._segment_max, "Returns the largest of each segment.")
segment_min = _segment_function("segment_min", _ops._segment_min, "Returns the smallest of each segment.")

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
