"""The library that SWEEP_LIBRARY names, under names that both have, and how programs are listed."""

import dataclasses
import importlib
import os
from collections.abc import Callable

import numpy

NAME = os.environ.get("SWEEP_LIBRARY", "neap")
SCALE = float(os.environ.get("SWEEP_SCALE", "1"))  # of each program's longest axis
root = importlib.import_module(NAME)
np = importlib.import_module(f"{NAME}.numpy")
lax, nn, random = (importlib.import_module(f"{NAME}.{part}") for part in ("lax", "nn", "random"))
special = importlib.import_module(f"{NAME}.scipy.special")
linalg = importlib.import_module(f"{NAME}.scipy.linalg")
jit, grad, value_and_grad, vmap = root.jit, root.grad, root.value_and_grad, root.vmap
jvp, hessian, jacfwd, jacrev = root.jvp, root.hessian, root.jacfwd, root.jacrev
finish = root.block_until_ready

PROGRAMS = {}
_generator = numpy.random.default_rng


class Stretched:
    """A generator that draws `scale` times as many numbers along axes of `length`."""

    def __init__(self, generator, length, scale):
        self._generator, self._length, self._scale = generator, length, scale

    def _shape(self, shape):
        return tuple(max(1, round(n * self._scale)) if n == self._length else n for n in shape)

    def standard_normal(self, shape):
        return self._generator.standard_normal(self._shape(shape))

    def random(self, shape):
        return self._generator.random(self._shape(shape))

    def integers(self, low, high, shape):
        return self._generator.integers(low, high, self._shape(shape))


@dataclasses.dataclass
class Program:
    f: Callable
    makers: tuple

    def arguments(self):
        """The arguments, their longest axes stretched by SCALE."""
        drawn = [make(_generator(seed)) for seed, make in enumerate(self.makers)]
        if SCALE != 1:
            longest = max((n for a in drawn for n in a.shape), default=0)
            drawn = [make(Stretched(_generator(seed), longest, SCALE)) for seed, make in enumerate(self.makers)]
        return [np.asarray(a) for a in drawn]


def program(*makers):
    """Lists a function of as many arrays as there are makers; its name is the program's."""

    def listed(f):
        PROGRAMS[f.__name__] = Program(f, makers)
        return f

    return listed


def host(tree):
    """The results, as NumPy's arrays."""
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in host(part)]
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in host(tree[key])]
    return [numpy.asarray(tree)]


def normal(*shape, dtype="float32", scale=1.0):
    return lambda r: (scale * r.standard_normal(shape)).astype(dtype)


def uniform(*shape, low=0.0, high=1.0, dtype="float32"):
    return lambda r: (low + (high - low) * r.random(shape)).astype(dtype)


def integers(*shape, high, low=0, dtype="int32"):
    return lambda r: r.integers(low, high, shape).astype(dtype)


def ordered(*shape, high, dtype="int32"):
    return lambda r: numpy.sort(r.integers(0, high, shape).astype(dtype), axis=-1)


def positive(n, batch=()):
    """Positive definite matrices."""

    def make(r):
        a = r.standard_normal((*batch, n, n))
        return (a @ numpy.swapaxes(a, -1, -2) / n + 2 * numpy.eye(n)).astype("float32")

    return make
