"""Images: jax.image. The centre of the pixel of index i is at i + 0.5."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from . import _neap
from ._neap import Array


class ResizeMethod(enum.Enum):
    """How a pixel is made of those around its centre."""

    NEAREST = "nearest"
    LINEAR = "linear"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    CUBIC = "cubic"


def _name(method: str | ResizeMethod) -> str:
    return method.value if isinstance(method, ResizeMethod) else method


def resize(
    image: Any, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True, precision: Any = None
) -> Array:
    """Returns an image resized to a shape by "nearest", "linear", "cubic", "lanczos3" or "lanczos5". antialias: where an axis
    becomes shorter the kernel is as much wider."""
    del precision
    return _neap.image._resize(image, shape, _name(method), antialias)


def scale_and_translate(
    image: Any, shape: Sequence[int], spatial_dims: Sequence[int], scale: Any, translation: Any, method: str | ResizeMethod,
    antialias: bool = True, precision: Any = None,
) -> Array:  # fmt: skip
    """Returns an image of a shape whose pixel at p, along each of spatial_dims, shows the image at (p - translation) / scale;
    0 where that is outside."""
    del precision
    return _neap.image._scale_and_translate(image, shape, spatial_dims, scale, translation, _name(method), antialias)


__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
