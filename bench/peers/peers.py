#!/usr/bin/env python3
"""The peers' versions of the benchmark's cases: MLX, JAX and NumPy, each written as its own documentation would.

Prints one JSON object a line: case, peer, version, dtype, shape, seconds_median, seconds_min, elements_per_second,
peak_bytes (arguments, temporaries and output, as the peer itself counts them; null where it does not), resident_bytes
(of models and reports: arguments, and by how much the process grew in its first call), output_sum (of reports and programs: on
Neap's own arguments).

    pip install 'mlx[cpu]' jax ml_dtypes
    python peers.py --case random-normal --size 4096x4096 --peers mlx,jax,numpy

Each measurement is a fresh process, so that neither caches nor peaks carry over.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

import models
from operations import OPERATIONS, operation
from programs import PROGRAMS, program
from reports import REPORTS, report
from throughput import FORMS, throughput

MODELS = {**models.MODELS, "reports": ((20,), report, tuple(REPORTS)), "ops": ((1000,), operation, OPERATIONS),
          "programs": ((1000,), program, tuple(PROGRAMS)), "throughput": ((50,), throughput, FORMS)}
CASES = ("random-normal", "random-uniform", "gather-forward", "gather-grad", *MODELS)
PEERS = ("mlx", "mlx-compiled", "jax", "torch", "numpy")
PEERS_OF = {"reports": ("jax",), "programs": ("jax",), "ops": ("jax", "torch"),
            "throughput": ("jax", "torch"), "model": ("mlx", "mlx-compiled", "jax"), "random": ("mlx", "jax", "numpy"),
            "gather": ("mlx", "jax", "numpy")}
SIDE = 128


def measure(run, reps):
    """Median and minimum seconds of `run`, after one call that pays for compilation and first touch."""
    run()
    seconds = []
    for _ in range(reps):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), min(seconds)


class Resident:
    """How far the process's resident memory grows from here on: what a peer holds, whatever it counts itself."""

    def __init__(self):
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")
        self.base = self.read("VmRSS")

    def growth(self):
        return self.read("VmHWM") - self.base

    @staticmethod
    def read(what):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith(what))


def index_rows(rows, dtype):
    import numpy as np

    return np.random.default_rng(7).integers(0, SIDE, (rows, 3), dtype=np.int16).astype(dtype)


def mlx_case(case, shape, dtype, reps):
    import mlx.core as mx

    mx.set_default_device(mx.cpu)
    if case.startswith("random"):
        kind = {"bf16": mx.bfloat16, "f16": mx.float16, "f32": mx.float32}[dtype]
        draw = mx.random.normal if case == "random-normal" else mx.random.uniform
        key = mx.random.key(42)
        call = lambda: draw(shape=shape, dtype=kind, key=key)
    else:
        table = mx.random.normal((SIDE, SIDE, SIDE), key=mx.random.key(1))
        index = mx.array(index_rows(shape[0], {"i32": "int32", "i16": "int16"}[dtype]))
        mx.eval(table, index)
        loss = lambda x: (x[index[:, 0], index[:, 1], index[:, 2]] * 2.5).sum()
        f = loss if case == "gather-forward" else mx.grad(loss)
        call = lambda: f(table)
    mx.clear_cache()
    mx.reset_peak_memory()
    mx.eval(call())
    peak = mx.get_peak_memory()
    return *measure(lambda: mx.eval(call()), reps), peak, mx.__version__


def jax_case(case, shape, dtype, reps):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_platforms", "cpu")
    if case.startswith("random"):
        kind = {"bf16": jnp.bfloat16, "f16": jnp.float16, "f32": jnp.float32}[dtype]
        draw = jax.random.normal if case == "random-normal" else jax.random.uniform
        f, arguments = jax.jit(lambda key: draw(key, shape, kind)), (jax.random.key(42),)
    else:
        table = jax.random.normal(jax.random.key(1), (SIDE, SIDE, SIDE))
        index = jnp.asarray(index_rows(shape[0], {"i32": "int32", "i16": "int16"}[dtype]))
        loss = lambda x, i: (x[i[:, 0], i[:, 1], i[:, 2]] * 2.5).sum()
        f, arguments = jax.jit(loss if case == "gather-forward" else jax.grad(loss)), (table, index)
    compiled = f.lower(*arguments).compile()
    memory = compiled.memory_analysis()
    peak = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return *measure(lambda: compiled(*arguments).block_until_ready(), reps), peak, jax.__version__


def numpy_case(case, shape, dtype, reps):
    import tracemalloc

    import numpy as np

    if case.startswith("random"):
        import ml_dtypes

        kind = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}[dtype]
        generator = np.random.default_rng(42)
        draw = generator.standard_normal if case == "random-normal" else generator.random
        call = lambda: draw(shape, dtype=np.float32).astype(kind, copy=False)
        held = 0
    else:
        table = np.random.default_rng(1).standard_normal((SIDE, SIDE, SIDE), dtype=np.float32)
        index = index_rows(shape[0], {"i32": "int32", "i16": "int16"}[dtype])
        held = table.nbytes + index.nbytes

        def gradient():
            d = np.zeros_like(table)
            np.add.at(d, (index[:, 0], index[:, 1], index[:, 2]), np.float32(2.5))
            return d

        forward = lambda: (table[index[:, 0], index[:, 1], index[:, 2]] * np.float32(2.5)).sum()
        call = forward if case == "gather-forward" else gradient
    tracemalloc.start()
    call()
    peak = held + tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return *measure(call, reps), peak, np.__version__


def model_case(peer, case, shape, form, reps, plan_only, device):
    from libraries import Jax, Mlx, Torch

    lib = (Jax(plan_only, device) if peer == "jax" else Torch(device) if peer == "torch" else
           Mlx(compiled=peer == "mlx-compiled"))
    _, build, forms = MODELS[case]
    lib.loops = case in ("diffusion-sampler", "nbody") and form != "grad"
    f, arguments, donated = build(lib, shape, form or forms[0])
    arguments = list(arguments)
    if plan_only:
        return None, None, lib.prepare(f, arguments, donated)[1](), lib.version
    held = sum(a.nbytes for a in lib.leaves(arguments) if hasattr(a, "nbytes"))
    call, peak = lib.prepare(f, arguments, donated)
    resident = Resident()
    out = call()
    first_peak, grown = peak(), held + resident.growth()
    total = sum_of(lib, out) if case in ("reports", "programs") else None
    del out
    return *measure(call, reps), first_peak, lib.version, grown, total


def sum_of(lib, out):
    import numpy as np

    total = sum(float(np.sum(leaf, dtype=np.float64)) for leaf in map(np.asarray, lib.leaves(out)))
    return total if np.isfinite(total) else None  # JSON has no other numbers


def one(arguments):
    shape = tuple(int(n) for n in arguments.size.split("x"))
    if arguments.case in MODELS:
        result = model_case(arguments.peer, arguments.case, shape, arguments.form, arguments.reps, arguments.plan_only,
                            arguments.device)
    else:
        run = {"mlx": mlx_case, "jax": jax_case, "numpy": numpy_case}[arguments.peer]
        result = run(arguments.case, shape, arguments.dtype, arguments.reps)
    median, least, peak, version, *more = result
    grown, total = more or (None, None)
    count = 1
    for n in shape:
        count *= n
    print(json.dumps({"case": arguments.case, "peer": arguments.peer, "version": version, "dtype": arguments.dtype,
                      "shape": list(shape), "form": arguments.form, "seconds_median": median, "seconds_min": least,
                      "elements_per_second": count / median if median else None, "peak_bytes": peak,
                      "resident_bytes": grown, "output_sum": total}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, action="append", help="default: all")
    parser.add_argument("--form", default="", help="as neap-bench has it; of models and reports")
    parser.add_argument("--size", help="4096x4096, or rows for the gather cases (default 4096x4096 and 16777216)")
    parser.add_argument("--dtype", help="of the numbers (default bf16), or of the indices (default i32)")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="gpu: of JAX and PyTorch, through CUDA")
    parser.add_argument("--plan-only", action="store_true", help="JAX's peak from shapes; of models and reports")
    arguments = parser.parse_args()
    if arguments.peer:
        arguments.case = arguments.case[0]
        return one(arguments)
    failed = False
    for case in arguments.case or CASES:
        kind = "model" if case in MODELS else "random" if case.startswith("random") else "gather"
        size = {"model": MODELS.get(case, [()])[0], "random": (4096, 4096), "gather": (1 << 24,)}[kind]
        dtype = {"model": "f32", "random": "bf16", "gather": "i32"}[kind]
        for peer in arguments.peers.split(","):
            if peer not in PEERS_OF.get(case, PEERS_OF[kind]):
                continue  # models have no NumPy version; single calls have nothing to compile
            if arguments.device == "gpu" and (peer not in ("jax", "torch") or kind != "model"):
                continue
            if arguments.plan_only and (peer != "jax" or kind != "model"):
                continue
            command = [sys.executable, __file__, "--peer", peer, "--case", case, "--reps", str(arguments.reps),
                       "--form", arguments.form, "--size", arguments.size or "x".join(map(str, size)),
                       "--dtype", arguments.dtype or dtype, "--device", arguments.device,
                       *(["--plan-only"] if arguments.plan_only else [])]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            sys.stdout.write(done.stdout)
            sys.stdout.flush()
            if done.returncode:
                failed = True
                print(f"peers.py: {peer} {case} failed (exit {done.returncode})", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
