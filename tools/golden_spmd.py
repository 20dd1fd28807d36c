"""Golden values for include/neap/spmd.h, of jax.shard_map on four devices that the CPU plays, in f32 and in the form of
golden_numpy.py: tests/golden/spmd.json. tests/spmd/golden_spmd_test.cpp makes the same calls, under the same names.

Derivatives inside are those of shard_map without check_vma, which Neap's are.
"""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import functools

import jax
import jax.numpy as jnp
import numpy as np
from golden_numpy import write_json
from jax import lax
from jax.sharding import PartitionSpec as P

RNG = np.random.default_rng(22)
INPUTS = {
    "x": RNG.standard_normal((8, 4)).astype(np.float32),
    "w": RNG.standard_normal((4, 3)).astype(np.float32),
    "whole": RNG.standard_normal(8).astype(np.float32),
}


def on(mesh, in_specs, out_specs):
    return functools.partial(jax.shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)


def calls(i):
    x, w, whole = i["x"], i["w"], i["whole"]
    auto = jax.sharding.AxisType.Auto
    line = jax.make_mesh((4,), ("x",), axis_types=(auto,))
    plane = jax.make_mesh((2, 2), ("x", "y"), axis_types=(auto, auto))
    cut, both = P("x"), P("x", "y")
    along = on(line, (cut,), cut)
    yield "sums", [on(line, (cut,), P())(f)(x) for f in (lambda b: lax.psum(b, "x"), lambda b: lax.pmean(b, "x"), lambda b: lax.pmax(b, "x"),
                                                        lambda b: lax.pmin(b, "x"))]  # fmt: skip
    yield "gathers", [on(line, (cut,), P())(lambda b, a=a, t=t: lax.all_gather(b, "x", axis=a, tiled=t))(x)
                      for a, t in ((0, False), (1, False), (2, False), (0, True), (1, True))]  # fmt: skip
    yield "scatters", [along(lambda b: lax.psum_scatter(jnp.tile(b, (2, 1)), "x", scatter_dimension=0, tiled=False))(x),
                       along(lambda b: lax.psum_scatter(b, "x", scatter_dimension=1, tiled=True))(x),
                       along(lambda b: lax.psum_scatter(b, "x", scatter_dimension=1, tiled=False))(x)]  # fmt: skip
    yield "all_to_all", [along(lambda b, s=s, c=c: lax.all_to_all(b, "x", s, c, tiled=True))(x) for s, c in ((1, 0), (1, 1))] + [
        along(lambda b, s=s, c=c: lax.all_to_all(b, "x", s, c))(x) for s, c in ((1, 0), (1, 1))]  # fmt: skip
    yield "ppermute", [along(lambda b, p=p: lax.ppermute(b, "x", p))(x) for p in ([(0, 1), (1, 2), (2, 3), (3, 0)], [(2, 0), (0, 3)])]
    yield "axis_index", along(lambda b: lax.axis_index("x") + jnp.zeros(1, jnp.int32))(x)
    yield "plane", [on(plane, (both,), P())(lambda b: lax.psum(b, ("x", "y")))(x), on(plane, (both,), P(None, "y"))(lambda b: lax.psum(b, "x"))(x),
                    on(plane, (both,), both)(lambda b: lax.ppermute(b, "y", [(0, 1), (1, 0)]) + lax.psum(b, "x"))(x)]  # fmt: skip

    def loss(w, b):
        return jnp.mean(jnp.tanh(b @ w) ** 2)

    def summed(w, b):
        return lax.psum(loss(w, b), "x")

    yield "gradients inside", [on(line, (P(), cut), cut)(lambda w, b, f=f: jax.grad(f)(w, b)[None])(w, x) for f in (loss, summed)]
    yield "gradients outside", [jax.grad(on(line, (P(), cut), P())(summed), a)(w, x) for a in (0, 1)]

    def chain(b):
        there = lax.all_to_all(jnp.sin(b), "x", 1, 0, tiled=True)
        ring = lax.ppermute(there, "x", [(0, 1), (1, 2), (2, 3), (3, 0)])
        return jnp.sum(ring * lax.all_gather(b[:, :1], "x", axis=0, tiled=True)) + jnp.sum(lax.psum_scatter(b * b, "x", scatter_dimension=1, tiled=True) ** 2)

    yield "chain", [along(lambda b: chain(b)[None])(x), along(lambda b: jax.grad(chain)(b))(x),
                    jax.grad(lambda x: jnp.sum(along(lambda b: chain(b)[None])(x)))(x),
                    along(lambda b: jax.jvp(chain, (b,), (jnp.cos(b),))[1][None])(x)]  # fmt: skip

    def steps(b):
        def step(c, _):
            left = lax.ppermute(c[-1:], "x", [(0, 1), (1, 2), (2, 3), (3, 0)])
            c = 0.5 * c + 0.5 * jnp.concatenate([left, c[:-1]])
            return c, lax.psum(jnp.sum(c), "x")

        return lax.scan(step, b, None, length=5)

    yield "scan", list(on(line, (cut,), (cut, P()))(steps)(whole))
    yield "vmap", along(lambda b: jax.vmap(lambda row: lax.psum(row, "x") + lax.all_gather(row, "x").sum(0) * row)(b))(x)


def write():
    write_json("spmd.json", INPUTS, calls, (",", ":"))


if __name__ == "__main__":
    write()
