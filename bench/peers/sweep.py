"""Programs in the words of JAX, run by Neap and by JAX from one source, and their times side by side.

    NEAP=build/python-build/bin/python JAX=peers/bin/python python3 bench/peers/sweep.py [name prefixes]

`sweeps/` has the programs by subject. Each library runs them in one process of its own, in turns (`--rounds`); of each program
the median of `--seconds` of calls counts, and of the rounds the best. A row tells milliseconds, their ratio, the first calls and
how far two sums of each result, one weighted by place, are from each other. PYTHONPATH must lead Neap's interpreter to the package. Without a library's interpreter
its column is missing.
"""

import argparse
import importlib
import json
import math
import os
import pathlib
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).parent
SUMS = 5  # of each result


def programs(prefixes):
    """Each program that one of the prefixes begins, by name."""
    sys.path.insert(0, str(FOLDER))
    library = importlib.import_module("sweeps.library")
    for path in sorted((FOLDER / "sweeps").glob("*.py")):
        importlib.import_module(f"sweeps.{path.stem}")
    return {name: made for name, made in library.PROGRAMS.items() if not prefixes or name.startswith(tuple(prefixes))}


def measured(program, seconds):
    """What one program takes here: seconds of the first call and of the median one, and sums of its results."""
    from sweeps import library

    arguments = program.arguments()
    f = library.jit(program.f)
    finish = library.finish
    begin = time.perf_counter()
    results = finish(f(*arguments))
    first = time.perf_counter() - begin
    times = []
    until = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < until:
        begin = time.perf_counter()
        finish(f(*arguments))
        times.append(time.perf_counter() - begin)
    sums = [total for leaf in library.host(results) for total in sums_of(leaf)]
    return {"first": first, "median": sorted(times)[len(times) // 2], "sums": sums}


def sums_of(array):
    """Numbers that two arrays have alike only if they are alike: the sum of sizes, then sums of real and imaginary parts, plain
    and by place."""
    import numpy  # of the library's interpreter

    flat = array.astype("complex128").ravel()
    weights = 1 + (0.618 * numpy.arange(flat.size)) % 1
    whole = numpy.where(numpy.isfinite(flat), flat, 1e3)
    sums = [part @ w for part in (whole.real, whole.imag) for w in (numpy.ones(flat.size), weights)]
    return [float(v) for v in (numpy.sum(numpy.abs(whole)), *sums)]


def run_here(prefixes, seconds):
    for name, program in programs(prefixes).items():
        try:
            row = measured(program, seconds)
        except Exception as problem:  # a program that fails is a row, too
            row = {"error": f"{type(problem).__name__}: {problem}"[:300]}
        print(json.dumps({"name": name, **row}), flush=True)


def run_there(python, library, options):
    """The rows of a process of `library`, by name."""
    command = [*options.prefix.split(), python, __file__, "--library", library, "--seconds", str(options.seconds), *options.names]
    asked = {"SWEEP_LIBRARY": library, "SWEEP_SCALE": str(options.scale)}
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **asked})
    output = run.stdout
    if run.returncode:
        print(f"sweep: {library} ended with {run.returncode}; what it had not come to is missing", file=sys.stderr)
    return {row["name"]: row for row in map(json.loads, output.splitlines())}


def merged(rounds):
    """The best of some rounds of a library."""
    best = {}
    for rows in rounds:
        for name, row in rows.items():
            old = best.get(name)
            if old is None or "error" in old:
                best[name] = row
            elif "error" not in row and row["median"] < old["median"]:
                best[name] = {**row, "first": old["first"]}
    return best


def distance(ours, theirs):
    """The largest difference of two sums, of the sum of sizes."""
    if len(ours) != len(theirs):
        return math.inf
    sizes = [max(theirs[i - i % SUMS], 1e-30) for i in range(len(theirs))]
    return max((abs(a - b) / size for a, b, size in zip(ours, theirs, sizes)), default=0.0)


def show(neap, jax):
    def ratio(name):
        both = neap.get(name, {}), jax.get(name, {})
        return both[0]["median"] / both[1]["median"] if all("median" in row for row in both) else math.inf

    print(f"{'program':28} {'Neap ms':>9} {'JAX ms':>9} {'ratio':>6} {'first':>6} {'JAX':>6} apart")
    for name in sorted({**neap, **jax}, key=ratio):
        ours, theirs = neap.get(name, {}), jax.get(name, {})
        cells = [f"{row['median'] * 1e3:9.4f}" if "median" in row else f"{'-':>9}" for row in (ours, theirs)]
        firsts = [f"{row['first'] * 1e3:6.0f}" if "median" in row else f"{'-':>6}" for row in (ours, theirs)]
        both = "median" in ours and "median" in theirs
        apart = f"{distance(ours['sums'], theirs['sums']):.1e}" if both else (ours.get("error") or theirs.get("error") or "")[:150]
        print(f"{name:28} {cells[0]} {cells[1]} {ratio(name):6.2f} {firsts[0]} {firsts[1]} {apart}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="what the names of the programs begin with (default: all)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of calls that count, for each program")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1, help="how much longer the longest axis of each program's arguments is")
    parser.add_argument("--prefix", default="", help="what each process is started with, as 'nice -n -10'")
    parser.add_argument("--json", help="a file for the rows of both")
    parser.add_argument("--library", choices=("neap", "jax"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library:
        return run_here(options.names, options.seconds)
    rounds = {"neap": [], "jax": []}
    for _ in range(options.rounds):
        for library in rounds:
            if python := os.environ.get(library.upper()):
                rounds[library].append(run_there(python, library, options))
    best = {library: merged(rows) for library, rows in rounds.items()}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(best, indent=1))
    show(best["neap"], best["jax"])


if __name__ == "__main__":
    main()
