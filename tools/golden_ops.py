"""Golden files of jax.numpy, jax.nn, jax.lax and jax.scipy.special. A manifest entry:

    {"name", "function", "params", "inputs": [{"file", "shape", "dtype"}...], "outputs": [...], "rtol", "atol"}

Inputs come in the order of the function's array arguments and are shared between calls. Functions of the namespace
`index` are x[...] and x.at[...] with the indices in params. Subnormal numbers are left out: XLA flushes them on a CPU.
"""

import jax
import jax.numpy as jnp
import numpy as np
from golden_common import Folder
from jax.scipy import special

SPECIAL = [0.0, -0.0, 0.25, -0.25, 0.5, -0.5, 0.999, -0.999, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 3.141592, -7.25,
           20.0, -20.0, 100.0, -100.0, 1e-6, -1e-6, 1e6, -1e6, np.inf, -np.inf, np.nan]  # fmt: skip
UNARY = {
    "jnp": "abs sign floor ceil round trunc exp exp2 expm1 log log2 log1p sqrt cbrt reciprocal square sin cos tan "
           "arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh isnan isinf isfinite negative nan_to_num",
    "special": "erf erfc erfinv gammaln digamma logit",
    "nn": "relu sigmoid softplus silu elu",
}  # fmt: skip
BINARY = (
    "add subtract multiply divide maximum minimum power remainder fmod floor_divide arctan2 hypot logaddexp copysign "
    "nextafter"
)
INTEGER = (
    "add subtract multiply floor_divide remainder bitwise_and bitwise_or bitwise_xor left_shift right_shift maximum "
    "minimum"
)


def inputs():
    rng = np.random.default_rng(20)
    cube = rng.standard_normal((3, 4, 5)).astype(np.float32)
    grid = np.array(SPECIAL[::2] + SPECIAL[-1:], np.float32)
    return {
        "special": np.array(SPECIAL, np.float32), "left": np.repeat(grid, grid.size), "right": np.tile(grid, grid.size),
        "ints_left": np.array([7, -7, 7, -7, 0, 2**31 - 1, -(2**31), 123456], np.int32),
        "ints_right": np.array([2, 2, -2, -2, 5, 1, 3, 31], np.int32),
        "cube": cube, "row": cube[0, 0], "matrix": cube[1], "square": (cube[1] @ cube[1].T), "other": cube[2],
        "ties": np.array([[1, 3, 3, 2], [4, 0, 4, 0], [-1, -1, -1, -1]], np.float32),
        "with_nan": np.array([[1, np.nan, 3], [4, 5, 6], [np.nan, np.nan, np.nan]], np.float32),
        "mask": cube[1] > 0, "empty": np.zeros((0, 3), np.float32),
        "along": rng.integers(0, 5, (4, 2)).astype(np.int32), "columns": rng.integers(0, 3, (6,)).astype(np.int32),
    }  # fmt: skip


def index_function(name):
    """x[...] and x.at[...]: indices in NumPy's meaning, out of range as JAX does by default."""
    read = lambda x, rows, mode=None: x.at[np.array(rows)].get(mode=mode)
    return {
        "get": read,
        "get_tuple": lambda x, rows, columns: x[np.array(rows), np.array(columns)],
        "slice": lambda x, slices: x[tuple(slice(*s) for s in slices)],
        "add": lambda x, rows, value, mode=None: x.at[np.array(rows)].add(value, mode=mode),
        "set": lambda x, rows, value: x.at[np.array(rows)].set(value),
        "max": lambda x, rows, value: x.at[np.array(rows)].max(value),
        "min": lambda x, rows, value: x.at[np.array(rows)].min(value),
        "multiply": lambda x, rows, value: x.at[np.array(rows)].multiply(value),
    }[name]


def resolve(function):
    space, name = function.split(".")
    if space == "index":
        return index_function(name)
    return getattr({"jnp": jnp, "nn": jax.nn, "lax": jax.lax, "special": special}[space], name)


STRUCTURAL = [
    *(("jnp." + name, "cube", {"axis": axis, "keepdims": keep})
      for name in ("sum", "prod", "max", "min", "mean", "var", "std")
      for axis, keep in ((None, False), (1, False), ([0, 2], True))),
    *(("jnp." + name, "ties", {"axis": axis}) for name in ("argmax", "argmin") for axis in (None, 0, 1)),
    *(("jnp." + name, "mask", {"axis": 1}) for name in ("any", "all")),
    *(("jnp." + name, "with_nan", {"axis": 1}) for name in ("sum", "max", "min", "argmax", "argmin")),
    *(("jnp." + name, "empty", {"axis": axis}) for name in ("sum", "prod") for axis in (0, 1)),
    ("jnp.cumsum", "cube", {"axis": 1}), ("jnp.cumprod", "cube", {"axis": 2}), ("jnp.sort", "cube", {"axis": 1}),
    ("jnp.argsort", "ties", {"axis": 1}), ("special.logsumexp", "cube", {"axis": 2}),
    ("nn.softmax", "cube", {"axis": -1}), ("nn.log_softmax", "cube", {"axis": 1}),
    ("nn.gelu", "special", {"approximate": True}), ("nn.gelu", "special", {"approximate": False}),
    ("nn.one_hot", "columns", {"num_classes": 3}),
    ("jnp.matmul", "matrix row", {}), ("jnp.matmul", "cube row", {}), ("jnp.dot", "row row", {}),
    ("jnp.outer", "row row", {}),
    ("jnp.matmul", "square matrix", {}), ("jnp.tensordot", "cube cube", {"axes": [[0, 2], [0, 2]]}),
    ("jnp.tensordot", "matrix other", {"axes": [[0, 1], [0, 1]]}),
    ("lax.dot_general", "cube cube", {"dimension_numbers": [[[2], [2]], [[0], [0]]]}),
    ("lax.dot_general", "cube matrix", {"dimension_numbers": [[[1, 2], [0, 1]], [[], []]]}),
    ("jnp.transpose", "cube", {"axes": [2, 0, 1]}), ("jnp.reshape", "cube", {"shape": [5, -1]}),
    ("jnp.swapaxes", "cube", {"axis1": 0, "axis2": 2}), ("jnp.moveaxis", "cube", {"source": 0, "destination": -1}),
    ("jnp.broadcast_to", "row", {"shape": [2, 4, 5]}), ("jnp.expand_dims", "matrix", {"axis": 1}),
    ("jnp.flip", "cube", {"axis": [0, 2]}), ("jnp.roll", "matrix", {"shift": 2, "axis": 1}),
    ("jnp.pad", "matrix", {"pad_width": [[1, 2], [0, 3]], "constant_values": 7.0}),
    ("jnp.tile", "matrix", {"reps": [2, 1]}), ("jnp.repeat", "matrix", {"repeats": 2, "axis": 1}),
    ("jnp.tril", "square", {"k": 0}), ("jnp.triu", "square", {"k": 1}), ("jnp.trace", "square", {}),
    ("jnp.diagonal", "square", {}), ("jnp.where", "mask matrix other", {}),
    ("jnp.clip", "special", {"min": -1.0, "max": 2.0}),
    ("jnp.take", "matrix columns", {"axis": 0}), ("jnp.take_along_axis", "matrix along", {"axis": 1}),
    ("jnp.concatenate", "[matrix other]", {"axis": 1}), ("jnp.stack", "[matrix other]", {"axis": 1}),
    ("jnp.arange", "", {"start": 2, "stop": 17, "step": 3}),
    ("jnp.linspace", "", {"start": 0.0, "stop": 1.0, "num": 7}),
    ("jnp.eye", "", {"N": 3, "M": 5, "k": 1}),
    ("index.get", "matrix", {"rows": [0, -1, 3, 2]}), ("index.get", "matrix", {"rows": [0, 9, -9], "mode": "clip"}),
    ("index.get", "matrix", {"rows": [0, 9, -9, -1], "mode": "fill"}),
    ("index.get_tuple", "matrix", {"rows": [0, -1, 2], "columns": [4, -5, 1]}),
    ("index.slice", "cube", {"slices": [[None, None, -1], [1, 3, None], [None, None, 2]]}),
    ("index.slice", "matrix", {"slices": [[-1, None, None], [-4, -1, None]]}),
    ("index.add", "matrix", {"rows": [0, 0, -1, 9], "value": 1.5}),
    ("index.set", "matrix", {"rows": [1, -1, 9], "value": 0.5}),
    ("index.max", "matrix", {"rows": [1, 1, -1], "value": 0.5}),
    ("index.min", "matrix", {"rows": [1, 1, -1], "value": 0.5}),
    ("index.multiply", "matrix", {"rows": [1, 1, -1], "value": 2.0}),
]  # fmt: skip


def calls():
    for space, names in UNARY.items():
        yield from ((f"{space}.{name}", "special", {}) for name in names.split())
    yield from (("jnp." + name, "left right", {}) for name in BINARY.split())
    yield from (("jnp." + name, "ints_left ints_right", {}) for name in INTEGER.split())
    yield from STRUCTURAL


def hashable(value):
    return tuple(hashable(item) for item in value) if isinstance(value, list) else value


def write():
    out = Folder("ops")
    arrays = inputs()
    stored = {name: out.array("in_" + name, value) for name, value in arrays.items()}
    for number, (function, names, params) in enumerate(calls()):
        given = names.strip("[]").split()
        values = [jnp.asarray(arrays[name]) for name in given]
        keyed = {name: hashable(value) for name, value in params.items()}
        result = resolve(function)(*([values] if names.startswith("[") else values), **keyed)
        name = f"{function.replace('.', '_')}_{number:03d}"
        out.calls.append({
            "name": name, "function": function, "params": params, "inputs": [stored[name] for name in given],
            "outputs": [out.array(name, result)], "rtol": 2e-5, "atol": 1e-6,
        })  # fmt: skip
    out.save()
