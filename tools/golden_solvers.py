"""Golden values for include/neap/solvers.h, ode.h and optimize.h, in f64 and in the form of golden_numpy.py:
tests/golden/solvers.json.

tests/jit/golden_solvers_test.cpp makes the same calls, under the same names. Iterations of cg() and bicgstab() are
JAX's to rounding, so that unfinished ones are compared, too; of gmres() a whole restart.
"""

import jax
import jax.numpy as jnp
import numpy as np
from golden_numpy import write_json
from jax import lax
from jax.experimental.ode import odeint
from jax.scipy.optimize import minimize
from jax.scipy.sparse.linalg import bicgstab, cg, gmres

RNG = np.random.default_rng(20)
FACTOR = RNG.standard_normal((9, 9))
INPUTS = {
    "positive": FACTOR @ FACTOR.T + 3 * np.eye(9),
    "square": RNG.standard_normal((9, 9)) + 6 * np.eye(9),
    "b": RNG.standard_normal(9),
    "x0": RNG.standard_normal(9),
    "rows": RNG.standard_normal((3, 9)),
    "times": np.array([0.0, 0.4, 1.0, 2.5, 2.6]),
    "state": np.array([1.0, 0.5]),
    "start": np.array([-1.2, 1.0, 0.7]),
    "powers": np.array([2.0, 3.0, 0.5]),
}


def oscillator(y, t, stiffness):
    return jnp.stack([y[1], -stiffness * jnp.sin(y[0]) - 0.1 * y[1] + jnp.cos(t)])


def bowl(x):
    return jnp.sum(jnp.cosh(x - jnp.arange(3.0))) + jnp.sum(x) ** 2 / 2


def minimum(f, start):
    found = minimize(f, start, method="BFGS", tol=1e-8)
    assert found.success  # JAX's stops early in narrow valleys
    return found.x


def cube_root(a):
    def solve(f, x):
        return lax.while_loop(lambda x: jnp.max(abs(f(x))) > 1e-13, lambda x: x - f(x) / (3 * x * x), x)

    return lax.custom_root(lambda x: x**3 - a, jnp.ones_like(a), solve, lambda g, y: y / g(jnp.ones_like(y)))


def calls(i):
    a, s, b, x0 = i["positive"], i["square"], i["b"], i["x0"]
    scale = 1 / jnp.diagonal(a)
    yield "cg", [cg(a, b, maxiter=n)[0] for n in (1, 3, 6)]
    yield "cg from x0", [cg(lambda x: a @ x, b, x0, maxiter=4)[0], cg(a, b, M=lambda r: scale * r, maxiter=4)[0]]
    yield "cg ends", [cg(a, b, tol=1e-2)[0], cg(a, b, tol=0.0, atol=0.5)[0]]
    yield "bicgstab", [bicgstab(s, b, maxiter=n)[0] for n in (1, 3)] + [bicgstab(s, b, x0, M=lambda r: r / jnp.diagonal(s), maxiter=2)[0]]  # fmt: skip
    yield "gmres", [gmres(s, b, restart=n, maxiter=1)[0] for n in (2, 5)] + [gmres(s, b, x0, M=lambda r: r / jnp.diagonal(s), restart=3, maxiter=2)[0]]  # fmt: skip
    yield "grad cg", jax.grad(lambda a, b: jnp.sum(jnp.sin(cg(a, b, tol=1e-13)[0])), (0, 1))(a, b)
    yield "grad bicgstab", jax.grad(lambda a, b: jnp.sum(jnp.sin(bicgstab(a, b, tol=1e-13)[0])), (0, 1))(s, b)
    yield "hessian bicgstab", jax.hessian(lambda b: jnp.sum(jnp.sin(bicgstab(s, b, tol=1e-13)[0])))(b)
    yield "vmap cg", jax.vmap(lambda b: cg(a, b, tol=1e-13)[0])(i["rows"])
    yield "custom_root", [cube_root(i["powers"]), jax.grad(lambda a: jnp.sum(cube_root(a)))(i["powers"]), jax.hessian(lambda a: jnp.sum(cube_root(a)))(i["powers"])]  # fmt: skip
    yield "odeint", odeint(oscillator, i["state"], i["times"], 2.0)
    yield "grad odeint", jax.grad(lambda y, t, k: jnp.sum(jnp.sin(odeint(oscillator, y, t, k))), (0, 1, 2))(
        i["state"], i["times"], 2.0)  # fmt: skip
    yield "minimize", [minimum(bowl, i["start"])]


def write():
    with jax.enable_x64(True):
        write_json("solvers.json", INPUTS, calls)
