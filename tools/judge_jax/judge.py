"""Judges the harnesses of these numbers: one JSON line each, flushed, so that what a crash or a hang was is known."""

import json
import signal
import sys
import time
import traceback
import zlib

import jax
import neap as np
import numpy

jax.config.update("jax_enable_x64", True)
from jax._src.internal_test_util import test_harnesses  # noqa: E402

import compare  # noqa: E402
import rules_elementwise  # noqa: E402, F401
import rules_linalg  # noqa: E402, F401
import rules_reductions  # noqa: E402, F401
import translate  # noqa: E402


class Slow(Exception):
    pass


def late(*_):
    raise Slow


def first_params(jaxpr, name):
    for equation in jaxpr.eqns:
        if equation.primitive.name == name:
            return equation.params
        for inner in equation.params.values():
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns") and (found := first_params(inner, name)) is not None:
                return found
    return None


def numbers(x):
    if str(getattr(x, "dtype", "")).startswith("key<"):
        x = jax.random.key_data(x)
    return numpy.asarray(x)


def judged(harness):
    """Returns (status, detail, units)."""
    args = harness.dyn_args_maker(numpy.random.RandomState(zlib.adler32(harness.fullname.encode())))
    try:
        closed = jax.make_jaxpr(harness.dyn_fun)(*args)
    except Exception as e:
        return "jax refuses", f"{type(e).__name__}: {e}"[:300], None
    leaves = [numpy.asarray(x, a.dtype) for x, a in zip(jax.tree.leaves(args), closed.in_avals, strict=True)]
    try:
        got = np.jit(translate.as_function(closed))(*leaves)
        got = [numpy.asarray(x) for x in got]
    except translate.Untranslated as e:
        return "untranslated", str(e), None
    except translate.Mistyped as e:
        return "differs", f"type: {e}", None
    except Slow:
        raise
    except Exception as e:
        where = traceback.extract_tb(e.__traceback__)[-1]
        return "raises", f"{type(e).__name__}: {e}"[:400] + f" [{where.name}]", None
    try:
        expected = [numbers(x) for x in jax.tree.leaves(jax.jit(harness.dyn_fun)(*args))]
    except Exception:  # LAPACK has no half types: the same in float32, rounded
        try:
            wider = [x.astype(numpy.float32) if x.dtype.itemsize == 2 else x for x in map(numpy.asarray, args)]
            expected = [numbers(x) for x in jax.tree.leaves(jax.jit(harness.dyn_fun)(*wider))]
            expected = [e.astype(a.dtype) for e, a in zip(expected, closed.out_avals, strict=True)]
        except Exception as e:
            return "no reference", f"{type(e).__name__}: {e}"[:200], None
    params = first_params(closed.jaxpr, harness.group_name)
    units, text = compare.judge(harness.group_name, params, leaves, got, expected)
    return ("agrees", "", units) if text is None else ("differs", text, units)


def main():
    log, limit, which = sys.argv[1], int(sys.argv[2]), [int(i) for i in sys.argv[3].split(",")]
    numpy.seterr(all="ignore")
    signal.signal(signal.SIGALRM, late)
    with open(log, "a") as out:
        for i in which:
            harness = test_harnesses.all_harnesses[i]
            out.write(json.dumps({"i": i, "begins": harness.fullname}) + "\n")
            out.flush()
            start = time.monotonic()
            signal.alarm(limit)
            try:
                status, detail, units = judged(harness)
            except Slow:
                status, detail, units = "slow", f"over {limit} s", None
            except Exception:
                status, detail, units = "judge fails", traceback.format_exc(limit=-3)[-600:], None
            signal.alarm(0)
            row = {"i": i, "group": harness.group_name, "name": harness.fullname, "status": status, "detail": detail}
            row |= {"units": None if units is None or not numpy.isfinite(units) else round(units, 3)}
            row |= {"seconds": round(time.monotonic() - start, 3), "cpu": harness.filter("cpu")}
            out.write(json.dumps(row) + "\n")
            out.flush()


main()
