"""The dtype that JAX computes in for each pair of dtypes, and for an array with a Python scalar.

promotion.json: {"array": {a: {b: dtype}}, "scalar": {"bool" | "integer" | "floating" | "complex": {a: dtype}}}. Where JAX answers
with a weak type, which takes its width from a setting, Neap's defaults stand: i32, f32 and c64.
"""

import json

import jax
import jax.numpy as jnp
from golden_common import DTYPES, GOLDEN, name_of

SCALARS = {"bool": True, "integer": 1, "floating": 1.0, "complex": 1j}


def sum_dtype(a, b):
    total = jnp.add(a, b)
    if not total.weak_type:
        return name_of(total.dtype)
    kinds = {"f": "f32", "c": "c64"}
    return kinds.get(total.dtype.kind, "i32")


def write():
    with jax.enable_x64(True):
        ones = {name: jnp.ones((), dtype) for name, dtype in DTYPES.items()}
        table = {
            "array": {a: {b: sum_dtype(ones[a], ones[b]) for b in ones} for a in ones},
            "scalar": {kind: {a: sum_dtype(ones[a], scalar) for a in ones} for kind, scalar in SCALARS.items()},
        }
    rows = lambda part: ",\n".join(f'    "{name}": {json.dumps(row)}' for name, row in table[part].items())
    parts = ",\n".join(f'  "{part}": {{\n{rows(part)}\n  }}' for part in table)
    (GOLDEN / "ops" / "promotion.json").write_text(f"{{\n{parts}\n}}\n")
