"""JAX and MLX behind one small set of names, for models.py: what the two write differently, and how each is measured;
and PyTorch, for operations.py.

`prepare` gives (call, peak): call() runs the function on its arguments and waits (JAX's also returns what came out),
peak() is in bytes. A step that donates its state goes on from it: each call takes the memory of what the last gave.
"""

import os


class Jax:
    def __init__(self, abstract=False, device="cpu"):
        """abstract: arguments have shapes only, enough for prepare's peak at sizes that no machine here could run."""
        import jax
        import jax.numpy

        jax.config.update("jax_platforms", "cuda" if device == "gpu" else "cpu")
        self.jax, self.xp, self.version, self.abstract = jax, jax.numpy, jax.__version__, abstract
        self.grad, self.value_and_grad = jax.grad, jax.value_and_grad
        self.log_softmax, self.softmax, self.silu = jax.nn.log_softmax, jax.nn.softmax, jax.nn.silu
        self.gelu = lambda x: jax.nn.gelu(x, approximate=False)
        self.key, self.normal, self.fold_in = jax.random.key, jax.random.normal, jax.random.fold_in
        self.tree_map, self.leaves = jax.tree.map, jax.tree.leaves
        self.vmap = lambda f, axes: jax.vmap(f, in_axes=axes)
        self.hessian = lambda f, n: jax.hessian(f)

    def uniform(self, shape, seed, scale=1):
        if self.abstract:
            return self.jax.ShapeDtypeStruct(shape, self.xp.float32)
        return self.jax.random.uniform(self.key(seed), shape, minval=-scale, maxval=scale)

    def indices(self, shape, limit, seed):
        if self.abstract:
            return self.jax.ShapeDtypeStruct(shape, self.xp.int32)
        return self.jax.random.randint(self.key(seed), shape, 0, limit)

    def zeros_like(self, x):
        return x if self.abstract else self.xp.zeros_like(x)

    def kernel(self, shape, seed):
        return self.uniform(shape, seed, (3 / (9 * shape[2])) ** 0.5)

    def conv(self, x, w):
        return self.jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def scan(self, step, carry, xs, *constants):
        return self.jax.lax.scan(lambda c, x: step(c, x, *constants), carry, xs)

    def prepare(self, f, arguments, donated):
        jitted = self.jax.jit(f, donate_argnums=(0,) if donated else ())
        compiled = jitted.lower(*arguments).compile()
        m = compiled.memory_analysis()
        peak = m.argument_size_in_bytes + m.output_size_in_bytes + m.temp_size_in_bytes - m.alias_size_in_bytes
        held = list(arguments)

        def call():
            out = self.jax.block_until_ready(compiled(*held))
            if donated:
                held[0] = out[0]
            return out

        return call, lambda: peak


class Torch:
    """PyTorch, eagerly, as most of its users run single operations; it counts no bytes."""

    def __init__(self, device="cpu"):
        import torch

        torch.set_num_threads(len(os.sched_getaffinity(0)))
        if device == "gpu":
            torch.set_default_device("cuda")
        self.wait = torch.cuda.synchronize if device == "gpu" else lambda: None
        self.torch, self.version, self.abstract = torch, torch.__version__, False
        self.leaves = lambda out: [leaf for leaf in (out if isinstance(out, (tuple, list)) else (out,))]

    def prepare(self, f, arguments, donated):
        def call():
            out = f(*arguments)
            self.wait()
            return out

        with self.torch.no_grad():
            call()
        return call, lambda: None


class Mlx:
    def __init__(self, compiled=False):
        import mlx.core as mx
        import mlx.nn
        from mlx.utils import tree_flatten, tree_map

        mx.set_default_device(mx.cpu)
        self.mx = self.xp = mx
        self.version = mx.__version__
        self.grad = lambda f, argnums=0: mx.grad(f, argnums=argnums)
        self.value_and_grad = mx.value_and_grad
        self.log_softmax, self.silu, self.gelu = mlx.nn.log_softmax, mlx.nn.silu, mlx.nn.gelu
        self.softmax = lambda x: mx.softmax(x, -1)
        self.key, self.tree_map, self.zeros_like = mx.random.key, tree_map, mx.zeros_like
        self.leaves = lambda tree: [leaf for _, leaf in tree_flatten(tree)]
        self.normal = lambda key, shape: mx.random.normal(shape, key=key)
        self.fold_in = lambda key, i: key + i.astype(mx.uint32)  # there is none; each step has a key of its own
        self.vmap = lambda f, axes: mx.vmap(f, in_axes=axes)
        self.compiled, self.loops = compiled, False

    def uniform(self, shape, seed, scale=1):
        return self.mx.random.uniform(-scale, scale, shape, key=self.key(seed))

    def indices(self, shape, limit, seed):
        return self.mx.random.randint(0, limit, shape, key=self.key(seed))

    def kernel(self, shape, seed):
        height, width, inputs, outputs = shape
        return self.uniform((outputs, height, width, inputs), seed, (3 / (9 * inputs)) ** 0.5)

    def conv(self, x, w):
        return self.mx.conv2d(x, w, padding=1)

    def hessian(self, f, n):
        """Rows of the Hessian by vmap of a reverse pass over a reverse pass: MLX's vmap of jvp lacks rules."""
        mx = self.mx

        def all_rows(flat, x, y):
            gradient = lambda p: mx.grad(f)(p, x, y)
            return mx.vmap(lambda v: mx.vjp(gradient, [flat], [v])[1][0])(mx.eye(n))

        return all_rows

    def scan(self, step, carry, xs, *constants):
        """MLX has no scan: a Python loop. Outside grad each step is evaluated, so that steps do not pile up."""
        ys = []
        if self.loops and self.compiled:
            step = self.mx.compile(step)
        for i in range(xs.shape[0]):
            carry, y = step(carry, xs[i], *constants)
            ys += [y] if y is not None else []
            if self.loops:
                self.mx.eval(carry, *ys[-1:])
        return carry, self.mx.stack(ys) if ys else None

    def prepare(self, f, arguments, donated):
        mx, held = self.mx, list(arguments)
        if self.compiled and not self.loops:
            f = mx.compile(f)
        arguments.clear()  # or they would keep the first state alive
        mx.eval(held)
        mx.clear_cache()
        mx.reset_peak_memory()

        def call():
            if not donated:
                return mx.eval(f(*held))
            held[0], value = f(*held)  # nothing else holds the old state: its memory is free to be taken
            mx.eval(held[0], value)

        return call, mx.get_peak_memory
