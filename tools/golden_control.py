"""Golden values for loops and branches (include/neap/control.h): tests/golden/control.json, in the form of numpy.json.
tests/jit/golden_control_test.cpp makes the same calls, under the same names.
"""

import jax
import jax.numpy as jnp
import numpy as np
from golden_numpy import write_json
from jax import lax

INPUTS = {
    "x": np.array([0.3, -0.7, 1.5, 2.25], np.float32),
    "t": np.array([1.0, 0.5, -2.0, 0.25], np.float32),
    "rows": np.array([[0.5, 1.5, -0.25, 2.0], [-1.5, 0.25, 0.75, -3.0], [4.0, -2.0, 1.0, 0.125]], np.float32),
    "positive": np.array([0.25, 2.0, 9.0, 1000.0], np.float32),
    "counts": np.array([1, 2, 7, 27, 12, 97], np.int32),
    "indices": np.array([-7, -1, 0, 1, 2, 3, 99], np.int32),
    "flags": np.array([True, False, True]),
}


def newton(a):
    """Eight digits of sqrt(a), and the number of steps."""
    def goes_on(s):
        return (jnp.abs(s[0] * s[0] - a) > 1e-5 * a) & (s[1] < 50)

    return lax.while_loop(goes_on, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0))


def collatz(n):
    def step(s):
        return jnp.where(s[0] % 2 == 0, s[0] // 2, s[0] * 3 + 1), s[1] + 1

    return lax.while_loop(lambda s: s[0] != 1, step, (n, 0))[1]


def shrink(x):
    return lax.while_loop(lambda c: jnp.sum(c * c) > 0.5, lambda c: 0.75 * jnp.sin(c), x)


def chosen(x):
    return lax.cond(jnp.sum(x) > 0, lambda y: jnp.sum(y * y * y), lambda y: jnp.sum(jnp.sin(y) * y), x)


def picked(i, x):
    return lax.switch(i, [lambda y: y + 1, lambda y: y * y, lambda y: -2 * y], x)


def nested(x, rows):
    """A while_loop with a cond in it, in a scan."""
    def turn(c):
        return lax.cond(c[0] > 0, lambda a: a * 0.5, lambda a: jnp.cos(a) * 0.25, c)

    def step(c, row):
        c = lax.while_loop(lambda a: jnp.max(jnp.abs(a)) > 1, turn, c + row)
        return c, jnp.sum(c)

    return lax.scan(step, x, rows)


def power(x, n):
    return lax.fori_loop(0, n, lambda i, c: c * x + i, jnp.ones_like(x))


def calls(i):
    x, t, rows = i["x"], i["t"], i["rows"]
    yield "newton", newton(i["positive"][1])
    yield "newton vmap", jax.vmap(newton)(i["positive"])
    yield "collatz vmap", jax.vmap(collatz)(i["counts"])
    yield "while", shrink(x)
    yield "while jvp", jax.jvp(shrink, (x,), (t,))
    yield "while jacfwd", jax.jacfwd(shrink)(x)
    yield "while vmap jvp", jax.vmap(lambda r: jax.jvp(shrink, (r,), (t,)))(rows)
    yield "cond", [chosen(x), chosen(-x)]
    yield "cond grad", [jax.grad(chosen)(x), jax.grad(chosen)(-x)]
    yield "cond hessian", [jax.hessian(chosen)(x), jax.hessian(chosen)(-x)]
    yield "cond vmap grad", jax.vmap(jax.grad(chosen))(rows)
    yield "cond flags", jax.vmap(lambda p, r: lax.cond(p, jnp.exp, jnp.tanh, r))(i["flags"], rows)
    yield "switch", jax.vmap(picked, (0, None))(i["indices"], x)
    yield "switch jacrev", [jax.jacrev(picked, 1)(k, x) for k in (-1, 1, 5)]
    yield "nested", nested(x, rows)
    yield "nested jvp", sum(jax.jvp(nested, (x, rows), (t, rows)), ())
    yield "fori dynamic", [power(x, n) for n in (0, 3)]
    yield "fori dynamic jvp", jax.jvp(lambda y: power(y, jnp.int32(4)), (x,), (t,))


def write():
    write_json("control.json", INPUTS, calls)
