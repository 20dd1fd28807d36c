"""Neap: arrays in the manner of JAX, with a plan of memory that is known before anything runs.

    import neap as np

    loss = lambda w, x: np.sum(np.tanh(x @ w))
    step = np.jit(np.grad(loss), memory_budget="64MiB")
    print(step.plan(np.spec((512, 512)), np.spec((1024, 512))))
"""

from __future__ import annotations

import os as _os

from . import _neap

_neap._set_package_folder(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), ""))

from ._callback import check, pure_callback
from ._control import associative_scan, cond, fori_loop, map, scan, switch, while_loop
from ._custom import custom_jvp, custom_vjp
from ._dtypes import can_cast, finfo, iinfo, isdtype, ndim, result_type, shape, size
from ._jit import Jitted, Saved, jit
from ._neap import *  # noqa: F403
from ._array_api import *  # noqa: F403
from ._numpy_more import *  # noqa: F403
from ._numpy_places import *  # noqa: F403
from ._array_api import __array_api_version__, __array_namespace_info__
from . import debug, experimental, fft, image, lax, linalg, memory, nn, ops, random, scipy, tree, typing  # after it: it has some, too
from ._neap import FloatingPointError, IndexError, RuntimeError, abs, all, any, bool_, divmod, max, min, pow, round, sum
from ._notebook import name_cells as _name_cells
from ._plan import Tradeoffs
from ._transforms import (
    checkpoint, checkpoint_policies, eval_shape, grad, hessian, jacfwd, jacrev, jvp, linearize, make_graph, value_and_grad, vjp,
    vmap,
)  # fmt: skip
from ._tree import (
    PyTreeDef, register_dataclass, register_pytree_node, register_pytree_node_class, tree_all, tree_flatten, tree_leaves,
    tree_map, tree_reduce, tree_structure, tree_unflatten,
)  # fmt: skip

ShapeDtypeStruct = _neap.spec
remat = checkpoint
e, euler_gamma, inf, nan, newaxis, pi = 2.718281828459045, 0.5772156649015329, float("inf"), float("nan"), None, 3.141592653589793
__version__ = _neap.__version__
_name_cells()


def block_until_ready(x):
    """Returns a tree when the elements of its arrays are there."""
    return tree_map(lambda a: a.block_until_ready() if isinstance(a, _neap.Array) else a, x)


def __getattr__(name: str):
    if name == "numpy":  # imported when it is asked for
        import importlib

        return importlib.import_module(".numpy", __name__)
    if name == "bool":
        return bool_
    raise AttributeError(f"module 'neap' has no attribute {name!r}")
