"""What JAX takes before it first runs a case of neap-bench: tracing, lowering, compiling, in milliseconds.

    python bench/peers/first_call.py programs lstm

Neap's are the slices `planning` and `compiling` in the file that NEAP_PROFILE names, of neap-bench with NEAP_CACHE=off.
"""

import sys
import time

from libraries import Jax
from operations import operation
from programs import program

CASES = {"ops": operation, "programs": program}


def main(case, form):
    lib = Jax()
    jax = lib.jax
    jax.jit(lambda x: x + 1)(lib.xp.ones(3)).block_until_ready()  # what is started once in a process
    f, arguments, *_ = CASES[case](lib, [1000], form)
    times = [time.perf_counter()]
    for stage in (lambda _: jax.jit(f).trace(*arguments), lambda s: s.lower(), lambda s: s.compile()):
        staged = stage(None if len(times) == 1 else staged)
        times.append(time.perf_counter())
    trace, lower, compile_ = (1e3 * (b - a) for a, b in zip(times, times[1:]))
    print(f"{form}: {trace + lower + compile_:.0f} ms (tracing {trace:.0f}, lowering {lower:.0f}, compiling {compile_:.0f})")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in CASES:
        sys.exit(f"usage: first_call.py {'|'.join(CASES)} FORM")
    main(*sys.argv[1:])
