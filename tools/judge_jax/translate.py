"""Evaluates a jaxpr with Neap's public functions: one rule for each primitive, under its name (rules_*.py)."""

import neap as np
import numpy
from jax.extend import core

RULES = {}


class Untranslated(Exception):
    """A primitive, or a form of one, that has no rule."""


class Mistyped(Exception):
    """A rule gave another shape or dtype than JAX says."""


def rule(*names):
    """Registers a function f(equation, *operands) for primitives of these names."""

    def register(f):
        for name in names:
            RULES[name] = f
        return f

    return register


def is_key(aval):
    return str(aval.dtype).startswith("key<")


def constant(value, aval):
    return np.asarray(numpy.asarray(value, dtype=aval.dtype))


def as_function(jaxpr, consts=(), of_scalars=False):
    """Returns a jaxpr (closed, or open with consts) as a function of arrays that returns a list. One of scalars is given whole
    arrays, as Neap does with what joins elements."""
    if hasattr(jaxpr, "consts"):
        jaxpr, consts = jaxpr.jaxpr, jaxpr.consts
    return lambda *args: evaluate(jaxpr, consts, args, of_scalars)


def evaluate(jaxpr, consts, args, of_scalars=False):
    values = {}

    def read(v):
        return constant(v.val, v.aval) if isinstance(v, core.Literal) else values[v]

    for v, c in zip(jaxpr.constvars, consts, strict=True):
        values[v] = c if isinstance(c, np.Array) else constant(c, v.aval)
    for v, a in zip(jaxpr.invars, args, strict=True):
        values[v] = a
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name not in RULES:
            raise Untranslated(name)
        out = RULES[name](equation, *[read(v) for v in equation.invars])
        out = list(out) if isinstance(out, tuple | list) else [out]
        for v, x in zip(equation.outvars, out, strict=True):
            check(name, v.aval, x, of_scalars)
            values[v] = x
    return [read(v) for v in jaxpr.outvars]


def check(name, aval, x, of_scalars):
    if is_key(aval):
        return
    if (not of_scalars and tuple(x.shape) != tuple(aval.shape)) or str(numpy.dtype(x.dtype)) != str(aval.dtype):
        raise Mistyped(f"{name}: {x.dtype}{list(x.shape)}, expected {aval.dtype}{list(aval.shape)}")
