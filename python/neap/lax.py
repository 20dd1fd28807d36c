"""jax.lax's names for what Neap has of it."""

from ._control import associative_scan, cond, fori_loop, map, scan, switch, while_loop
from ._neap import _slice as slice
from ._neap import clamp, conv_general, dot_general, dynamic_slice, dynamic_update_slice, erf, erf_inv, iota, lgamma, rsqrt
from ._neap import stop_gradient, top_k

__all__ = [
    "associative_scan", "clamp", "cond", "conv_general", "dot_general", "dynamic_slice", "dynamic_update_slice", "erf",
    "erf_inv", "fori_loop", "iota", "lgamma", "map", "rsqrt", "scan", "slice", "stop_gradient", "switch", "top_k", "while_loop",
]  # fmt: skip
