"""For `import neap.numpy as jnp`: the functions and dtypes of neap, under the name that JAX's users know."""

from . import _neap
from ._dtypes import can_cast, finfo, iinfo, isdtype, ndim, result_type, shape, size
from ._neap import *  # noqa: F403
from ._array_api import *  # noqa: F403
from ._numpy_more import *  # noqa: F403
from ._numpy_places import *  # noqa: F403
from . import _array_api, _numpy_more, _numpy_places
from . import fft, linalg
from ._neap import Array as ndarray

e, euler_gamma, inf, nan, newaxis, pi = 2.718281828459045, 0.5772156649015329, float("inf"), float("nan"), None, 3.141592653589793

__all__ = [
    *_neap.__all__, *_array_api.__all__, *_numpy_more.__all__, *_numpy_places.__all__, "can_cast", "e", "euler_gamma", "fft", "finfo", "iinfo", "inf",
    "isdtype", "linalg", "nan", "ndarray", "ndim", "newaxis", "pi", "result_type", "shape", "size",
]  # fmt: skip
